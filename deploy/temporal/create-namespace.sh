#!/bin/sh
# Makes the namespace TEMPORAL_NAMESPACE on TEMPORAL_ADDRESS with what orders need, and ends when it can be used. Leaves
# a namespace that exists as it is: the worker warns when its retention is too short. Safe to run again.
set -eu

: "${TEMPORAL_ADDRESS:?}" "${TEMPORAL_NAMESPACE:?}" "${TEMPORAL_RETENTION:?}"
# A server that starts takes some seconds, one that caches namespaces up to a minute more.
PATIENCE_SECONDS=120
log=$(mktemp)
trap 'rm -f "$log"' EXIT

# Repeats a command each second until it succeeds; in the end says what it said.
until_works() {
  seconds=0
  until "$@" >"$log" 2>&1; do
    seconds=$((seconds + 1))
    if [ "$seconds" -ge "$PATIENCE_SECONDS" ]; then
      cat "$log" >&2
      return 1
    fi
    sleep 1
  done
}

until_works temporal operator cluster health
if ! temporal operator namespace describe --namespace "$TEMPORAL_NAMESPACE" >"$log" 2>&1; then
  until_works temporal operator namespace create --namespace "$TEMPORAL_NAMESPACE" \
    --retention "$TEMPORAL_RETENTION"
fi
# Succeeds too where they exist. A namespace is known everywhere only some seconds after it was made.
until_works temporal operator search-attribute create --namespace "$TEMPORAL_NAMESPACE" \
  --name OrderId --type Keyword --name OrderStatus --type Keyword
# Before the server takes them in a query it refuses orders that carry them.
until_works temporal workflow count --namespace "$TEMPORAL_NAMESPACE" \
  --query 'OrderId = "none" and OrderStatus = "none"'
echo "namespace $TEMPORAL_NAMESPACE is ready"
