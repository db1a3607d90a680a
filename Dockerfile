# The lab as one static program. Build with
#
#   docker build -t ghcr.io/OWNER/linefill .
#
# and measure with `docker run --rm -v "$PWD/out:/records" ghcr.io/OWNER/linefill run --out /records`.

# The kernels are those of x86-64, also where Docker runs on ARM.
FROM --platform=linux/amd64 rust:1-slim-bookworm AS build
RUN apt-get update && apt-get install -y --no-install-recommends gcc libc6-dev musl-tools \
    && rustup target add x86_64-unknown-linux-musl
WORKDIR /src
COPY . .
RUN cargo build --locked --release --features lab --target x86_64-unknown-linux-musl \
    --config 'profile.release.strip="symbols"'

# A shell, `cat` and `sleep`, by which docs/fleet fetches records.
FROM --platform=linux/amd64 busybox:stable-musl
COPY --from=build /src/target/x86_64-unknown-linux-musl/release/linefill /bin/linefill
ENTRYPOINT ["/bin/linefill"]
CMD ["doctor"]
