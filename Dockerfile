# Debian with nothing in it, the README's first command, and the page of `mirfak serve`:
#   docker build -t mirfak . && docker run --rm --network host mirfak
# The page answers its own machine alone, so the container has the network of its host. Other commands follow the name:
#   docker run --rm mirfak simulate scenarios/gpt3-175b-a100.yaml
FROM debian:12
COPY . /mirfak
WORKDIR /mirfak
RUN bash .ci/setup.sh && cmake --preset release && cmake --build --preset release --target mirfak
ENTRYPOINT ["build/release/mirfak"]
CMD ["serve"]
