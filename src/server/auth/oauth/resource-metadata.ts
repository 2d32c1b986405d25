/** RFC 9728, for the MCP endpoint as a resource. */
export interface ResourceMetadata {
  readonly resource: string
  readonly authorization_servers: readonly string[]
  readonly scopes_supported?: readonly string[]
  readonly bearer_methods_supported: readonly string[]
  readonly resource_name: string
}

const wellKnown = '/.well-known/oauth-protected-resource'

/** `resource` is the URL that clients use for MCP, tokens name it as their audience. */
export function resourceMetadata(parts: {
  readonly resource: string
  readonly issuer: string
  readonly scopes: readonly string[]
}): ResourceMetadata {
  return {
    resource: parts.resource,
    authorization_servers: [parts.issuer],
    // Without `offline_access`: whether a client stays logged in is between it and the provider.
    ...(parts.scopes.length > 0 && { scopes_supported: parts.scopes }),
    bearer_methods_supported: ['header'],
    resource_name: 'service-cli',
  }
}

/** Where clients look first: the path of the resource behind the well-known one. */
export function resourceMetadataUrl(resource: string): string {
  const { origin, pathname } = new URL(resource)
  return `${origin}${wellKnown}${pathname === '/' ? '' : pathname}`
}

/** All paths that answer with the document. A proxy may have taken its own prefix away. */
export function resourceMetadataPaths(resource: string): readonly string[] {
  const own = new URL(resourceMetadataUrl(resource)).pathname
  return [...new Set([own, `${wellKnown}/mcp`, wellKnown])]
}
