package config_test

import (
	"maps"
	"strings"
	"testing"

	"github.com/plugport/plugport/sdk-guest/go/config"
	"github.com/plugport/plugport/sdk-guest/go/plugporttest"
)

func TestSettingsAndSecretsAreReadByName(t *testing.T) {
	settings := map[string]string{"region": "eu"}
	plugporttest.New().HasConfig(settings, map[string]string{"token": "secret"}).Run(func() {
		region, _ := config.Get("region")
		token, found := config.Get("token")
		if region != "eu" || token != "secret" || !found {
			t.Error(region, token, found)
		}
		if _, found := config.Get("other"); found {
			t.Error("found")
		}
		if all := config.All(); !maps.Equal(all, settings) {
			t.Error(all)
		}
		_, err := config.Require("other")
		if err == nil || err.Error() != "this plugin needs the setting `other`, which its operator has not made" {
			t.Error(err)
		}
	})
	if _, err := config.Require("region"); err == nil || !strings.Contains(err.Error(), "there is no host here") {
		t.Error(err)
	}
}
