mod walk;

fn main() {
    let (ticks, cycles) = walk::step();
    println!("{ticks:.2} ticks, {cycles:.2?} core cycles per step");
}
