//go:build !wasip1

package config

import (
	"github.com/plugport/plugport/sdk-guest/go"
	"github.com/plugport/plugport/sdk-guest/go/internal/hostdouble"
)

// The settings of a test's client.

func getOne(key string) (string, bool, error) {
	host, err := hostdouble.Current()
	if err != nil {
		return "", false, plugport.Errorf(plugport.Internal, "%s", err)
	}
	value, found := host.Setting(key)
	return value, found, nil
}

func getAll() (map[string]string, error) {
	host, err := hostdouble.Current()
	if err != nil {
		return nil, plugport.Errorf(plugport.Internal, "%s", err)
	}
	return host.Settings(), nil
}
