//go:build !wasip1

package kv

import (
	"github.com/plugport/plugport/sdk-guest/go"
	"github.com/plugport/plugport/sdk-guest/go/internal/hostdouble"
)

// The store of a test's client, in memory.

type bucket struct{ host *hostdouble.Host }

// swap is one attempt to replace a value.
type swap struct {
	host  *hostdouble.Host
	key   string
	old   []byte
	found bool
}

func openBucket() (bucket, error) {
	host, err := hostdouble.Current()
	if err != nil {
		return bucket{}, plugport.Errorf(plugport.Internal, "%s", err)
	}
	if host.Denies() {
		return bucket{}, plugport.Errorf(plugport.Denied,
			"this server does not grant `kv` to the plugin, or only for callers with credentials")
	}
	return bucket{host}, nil
}

func (b bucket) get(key string) ([]byte, bool, error) {
	value, found := b.host.Get(key)
	return value, found, nil
}

func (b bucket) set(key string, value []byte) error {
	b.host.Set(key, value)
	return nil
}

func (b bucket) delete(key string) error {
	b.host.Delete(key)
	return nil
}

func (b bucket) exists(key string) (bool, error) {
	_, found := b.host.Get(key)
	return found, nil
}

func (b bucket) keys() ([]string, error) { return b.host.Keys(), nil }

func (b bucket) increment(key string, by int64) (int64, error) {
	sum, is := b.host.Increment(key, by)
	if !is {
		return 0, plugport.Errorf(plugport.Internal, "`%s` is no number, or has no room for the sum", key)
	}
	return sum, nil
}

func (b bucket) swap(key string) (*swap, error) {
	old, found := b.host.Get(key)
	return &swap{b.host, key, old, found}, nil
}

func (s *swap) current() ([]byte, error) { return s.old, nil }

// finish writes the value. If another call wrote the key meanwhile, it returns the next attempt.
func (s *swap) finish(value []byte) (*swap, error) {
	if s.host.Swap(s.key, s.old, s.found, value) {
		return nil, nil
	}
	return bucket{s.host}.swap(s.key)
}
