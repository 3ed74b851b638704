package plugport

// Root is a folder in which the client's user works: a file:// URI, with or without a name.
type Root struct {
	URI  string `json:"uri"`
	Name string `json:"name,omitempty"`
}

// Roots asks the client for its user's folders. It fails with MissingCapability when the client has none to tell of,
// and with Denied when the plugin may not ask.
func (c *Call) Roots() ([]Root, error) {
	if c.testClient == nil {
		return hostRoots(c.host, c.key)
	}
	answer, err := c.testClient.Answer(c.key, methodRoots, "{}")
	if err != nil {
		return nil, err
	}
	return readRoots(answer)
}

func readRoots(answer string) ([]Root, error) {
	var listed struct {
		Roots []Root `json:"roots"`
	}
	err := read(answer, &listed)
	return listed.Roots, err
}
