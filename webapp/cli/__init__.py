"""Commands around the application: setting it up (`prepare`) and running all of it on one machine (`launch`)."""
