package plugporttest

import "github.com/plugport/plugport/sdk-guest/go/kv"

// Run runs any code of the plugin with the store, the settings and the answers of this client, and waits for it. Calls
// of one client may run at once; those of different clients wait for each other.
func (c *Client) Run(job func()) { c.host.Run(job) }

// HasConfig is what the operator sets for the plugin. Either may be nil.
func (c *Client) HasConfig(settings, secrets map[string]string) *Client {
	c.host.Configure(settings, secrets)
	return c
}

// Store is the plugin's store.
func (c *Client) Store() *kv.Store {
	var store *kv.Store
	c.Run(func() { store, _ = kv.Open() })
	return store
}
