//! JSON.

use serde_json::Value;

use super::built::Built;

fn json(built: &Built, args: &[&str]) -> Value {
    serde_json::from_str(&built.layout(args).ok().out).unwrap()
}

#[test]
fn a_type_with_its_numbers_members_and_better_order() {
    let built = Built::c("json", "-g -c plain.c", "plain.o");
    let types = json(&built, &["plain.o", "--type", "foo", "--type", "outer", "--json"]);
    let foo = &types[0];
    for (key, value) in [
        ("size", 72),
        ("lines", 2),
        ("sum_members", 64),
        ("sum_holes", 4),
        ("padding", 4),
        ("last_line", 8),
        ("saves", 8),
        ("align", 8),
        ("line", 64),
    ] {
        assert_eq!(foo[key], value, "{key}");
    }
    assert_eq!(foo["members"][1]["name"], "fill");
    assert_eq!(foo["members"][1]["elements"][0], 7);
    assert_eq!(foo["members"][2]["offset"], 64);
    assert_eq!(foo["members"][2]["lines"], serde_json::json!([1]));
    let better = &foo["reorganised"];
    assert_eq!(better["order"], serde_json::json!(["a", "b", "fill"]));
    assert_eq!((&better["saves_bytes"], &better["saves_lines"]), (&8.into(), &1.into()));
    // The offsets of nested members count from the start of the whole type.
    let many = &types[1]["members"][3];
    assert_eq!(many["members"][1]["offset"], 40);
}

#[test]
fn the_list_of_types() {
    let built = Built::c("json-list", "-g -c plain.c", "plain.o");
    let rows = json(&built, &["plain.o", "--list", "--type", "order", "--json"]);
    assert_eq!(rows.as_array().unwrap().len(), 1);
    assert_eq!(rows[0]["type"], "order");
    assert_eq!(rows[0]["sum_holes"], 7);
}
