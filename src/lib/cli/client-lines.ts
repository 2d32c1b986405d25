interface ClientLineFacts {
  /** The server name in the settings of clients. */
  readonly name: string
  /** The MCP endpoint, as clients use it. */
  readonly url: string
  /** How to run this program. */
  readonly command: string
  /** Clients need an API key. */
  readonly keyed: boolean
  /** `mcp-config` alone takes the only running `serve`. Default false. */
  readonly isGateway?: boolean
}

/** How to connect a client: with `mcp-config`, and by hand. Refers to a key, never shows it. */
export function clientLines(facts: ClientLineFacts): string[] {
  const { name, url, keyed, command, isGateway = false } = facts
  const choice = isGateway ? ' --gateway' : ''
  const header = `      --header 'Authorization: Bearer \${SERVICE_MCP_API_KEY}'`
  const secret = '     "headers":{"Authorization":"Bearer ${SERVICE_MCP_API_KEY}"}}}}'
  return [
    `  ${command} mcp-config claude-code --write${choice}`,
    '  (also: claude-desktop, cursor, vscode, gemini-cli, codex, inspector, …)',
    '  or by hand:',
    ...continued(`    claude mcp add --transport http ${name} ${url}`, keyed ? [header] : []),
    `    {"mcpServers":{"${name}":{"type":"http",`,
    `     "url":${JSON.stringify(url)}${keyed ? ',' : '}}}'}`,
    ...(keyed ? [secret] : []),
  ]
}

/** The warning of a server without authentication; `readable`: what it exposes, on two lines. */
export function openNotice(
  { loopback, command }: { readonly loopback: boolean; readonly command: string },
  [first, rest]: readonly [string, string],
): string[] {
  const who = loopback ? 'every account of this machine' : 'everyone who can reach this address'
  return [
    `  No API key is set: ${who} can read ${first}`,
    `  ${rest}`,
    `  To require a key: ${command} keys create`,
  ]
}

/** A shell command on several lines. */
function continued(line: string, more: readonly string[]): string[] {
  return [line, ...more].map((each, index) => (index < more.length ? `${each} \\` : each))
}
