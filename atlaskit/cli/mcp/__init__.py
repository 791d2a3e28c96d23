"""`atlaskit mcp`: lend VideoAtlas as tools to assistants that speak the Model Context Protocol."""
