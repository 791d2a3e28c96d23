"""One module for each command of atlaskit."""
