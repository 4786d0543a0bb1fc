#!/bin/sh
# Spark needs Java 17 or newer. Says what to do where it is missing; on Debian as root, does it.
version() {
    "$1" -version 2>&1 | sed -n 's/.*version "\([0-9]*\).*/\1/p' | head -n 1
}

found=""
if [ -n "$JAVA_HOME" ] && [ -x "$JAVA_HOME/bin/java" ]; then
    found=$(version "$JAVA_HOME/bin/java")
elif command -v java >/dev/null 2>&1; then
    found=$(version java)
fi
if [ "${found:-0}" -ge 17 ]; then
    exit 0
fi

if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
    echo "Java 17 is missing: installing openjdk-17-jre-headless"
    apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq openjdk-17-jre-headless
    exit $?
fi

echo "muntin runs on Apache Spark, which needs Java 17 or newer (found: ${found:-none})." >&2
echo "  Debian, Ubuntu:  sudo apt-get install openjdk-17-jre-headless" >&2
echo "  macOS:           brew install openjdk@17" >&2
echo "  or set JAVA_HOME to a Java 17 that you have." >&2
exit 1
