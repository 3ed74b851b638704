package plugporthttp

import (
	"fmt"
	"io"
	"net/http"
)

// GetText is the text at a URL. A response without a status from 200 to 299 is an error.
func GetText(url string) (string, error) {
	response, err := http.Get(url)
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	if response.StatusCode < 200 || response.StatusCode > 299 {
		return "", fmt.Errorf("%s answers %d", url, response.StatusCode)
	}
	text, err := io.ReadAll(response.Body)
	return string(text), err
}
