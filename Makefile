# The front door. Meson and Ninja do the work, under build/.
.PHONY: all demo serve check test test-all bench fuzz reproduce site install dist deb setup-% clean

all: setup-build
	@scripts/build

demo: all
	@scripts/demo

# SERVER=valkey-server starts that one instead of redis-server.
serve: setup-build $(if $(SERVER),,setup-serve) all
	@scripts/serve

# Unit tests, property tests and one run of each command: under a minute after a change of one file.
check: setup-build setup-test
	@scripts/check

# All tests, also with sanitizers: about 12 minutes.
test: setup-build setup-test
	@scripts/test

# Also the long tests, ThreadSanitizer, other processors and the packages.
test-all: setup-build setup-test setup-package setup-cross setup-long
	@scripts/test --long

bench: setup-build setup-bench all
	@scripts/bench

fuzz: setup-build setup-test
	@scripts/fuzz

reproduce: setup-build setup-test all
	@scripts/reproduce

# The pages of docs/ as HTML, in build/site.
site: setup-site
	@scripts/site

# make install PREFIX=/usr DESTDIR=/tmp/package; without them under /usr/local.
install: all
	@if [ -n "$(PREFIX)" ]; then meson configure build -Dprefix="$(PREFIX)"; fi
	@DESTDIR="$(DESTDIR)" meson install -C build --quiet
	@if [ -z "$(DESTDIR)" ] && [ "$$(id -u)" = 0 ]; then ldconfig; fi

dist:
	@scripts/dist

deb: setup-build setup-package
	@scripts/deb

setup-%:
	@scripts/setup $*

clean:
	@rm -rf build
