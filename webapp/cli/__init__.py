"""Commands around the application: setting it up (`prepare`), running all of it on one machine (`launch`), and using it
from a terminal (`client`)."""
