module features

go 1.25

require github.com/plugport/plugport/sdk-guest/go v0.1.0

replace github.com/plugport/plugport/sdk-guest/go => ../../../../sdk-guest/go
