//go:build wasip1

package config

import (
	"github.com/plugport/plugport/sdk-guest/go"
	store "github.com/plugport/plugport/sdk-guest/go/internal/bindings/wasi_config_store"
)

// The settings that the host has.

func getOne(key string) (string, bool, error) {
	result := store.Get(key)
	if result.IsErr() {
		return "", false, failed(result.Err())
	}
	value := result.Ok()
	return value.SomeOr(""), value.IsSome(), nil
}

func getAll() (map[string]string, error) {
	result := store.GetAll()
	if result.IsErr() {
		return nil, failed(result.Err())
	}
	all := map[string]string{}
	for _, pair := range result.Ok() {
		all[pair.F0] = pair.F1
	}
	return all, nil
}

func failed(err store.Error) error {
	reason := ""
	if err.Tag() == store.ErrorUpstream {
		reason = err.Upstream()
	} else {
		reason = err.Io()
	}
	return plugport.Errorf(plugport.Internal, "the configuration cannot be read: %s", reason)
}
