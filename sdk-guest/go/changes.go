package plugport

const (
	listingTools = iota
	listingResources
	listingPrompts
	oneResource
)

// ToolsChanged tells the server that the list of tools has changed, as [When] says it. The server lists again and tells
// its clients.
func (c *Call) ToolsChanged() { c.changed(listingTools, "") }

// ResourcesChanged tells the server that the list of resources or of resource templates is another now.
func (c *Call) ResourcesChanged() { c.changed(listingResources, "") }

// PromptsChanged tells the server that the list of prompts is another now.
func (c *Call) PromptsChanged() { c.changed(listingPrompts, "") }

// ResourceUpdated tells those who subscribed to this resource that its content is another now.
func (c *Call) ResourceUpdated(uri string) { c.changed(oneResource, uri) }

func (c *Call) changed(listing int, uri string) {
	if c.testClient != nil {
		c.testClient.Changed(listing, uri)
		return
	}
	hostChanged(listing, uri)
}
