# Entry points. Meson and Ninja build everything in build/.
.PHONY: all demo static serve check test test-all bench fuzz reproduce site readme-figures install dist wheel deb setup-% clean

all: setup-build
	@scripts/build

demo: all
	@scripts/demo

# The command without shared libraries: build/static/tool/weir.
static: setup-build setup-static
	@scripts/static

# SERVER=valkey-server starts Valkey instead of Redis.
serve: setup-build $(if $(SERVER),,setup-serve) all
	@scripts/serve

# Unit tests, property tests and one run of each command: under a minute after you change one file.
check: setup-build setup-test
	@scripts/check

# All tests, also with sanitizers: 12 to 14 minutes.
test: setup-build setup-test
	@scripts/test

# Also the long tests, ThreadSanitizer, arm64, s390x and the Debian packages.
test-all: setup-build setup-test setup-package setup-cross setup-long
	@scripts/test --long

bench: setup-build setup-bench all
	@scripts/bench

fuzz: setup-build setup-test
	@scripts/fuzz

reproduce: setup-build setup-test all
	@scripts/reproduce

# Converts README, docs/ and the man pages to HTML in build/site, with the playground.
site: setup-site
	@scripts/site

# Measures the figures of README.md and docs/ again (docs/figures.tsv).
readme-figures: setup-build setup-bench all
	@scripts/readme-figures

# Example: make install PREFIX=/usr DESTDIR=/tmp/package. The default prefix is /usr/local.
install: all
	@if [ -n "$(PREFIX)" ]; then meson configure build -Dprefix="$(PREFIX)"; fi
	@DESTDIR="$(DESTDIR)" meson install -C build --quiet
	@if [ -z "$(DESTDIR)" ] && [ "$$(id -u)" = 0 ]; then ldconfig; fi

dist:
	@scripts/dist

# The Python package as a wheel and a source distribution, in build/wheel.
wheel: setup-build
	@scripts/wheel

deb: setup-build setup-package
	@scripts/deb

setup-%:
	@scripts/setup $*

clean:
	@rm -rf build
