// Package config is what the server's operator sets for the plugin: its settings, and its secrets, which are read by
// name in the same way. In tests, HasConfig of a client of plugporttest makes them.
package config

import (
	"strings"

	"github.com/plugport/plugport/sdk-guest/go"
)

// Get is a setting or a secret, and whether the operator has made it.
func Get(key string) (value string, found bool) {
	value, found, err := getOne(named(key))
	if err != nil {
		panic(err)
	}
	return value, found
}

// Require is a setting or a secret that the plugin cannot do without.
func Require(key string) (string, error) {
	value, found, err := getOne(named(key))
	if err == nil && !found {
		err = plugport.Errorf(plugport.Internal, "this plugin needs the setting `%s`, which its operator has not made", key)
	}
	return value, err
}

// All is all settings that are no secrets.
func All() map[string]string {
	all, err := getAll()
	if err != nil {
		panic(err)
	}
	return all
}

// named is a key as the interface takes it, which is text.
func named(key string) string { return strings.ToValidUTF8(key, "\uFFFD") }
