export interface ClientLineFacts {
  /** What clients call the server. */
  readonly name: string
  /** The MCP endpoint, as clients use it. */
  readonly url: string
  /** A key is asked for. */
  readonly keyed: boolean
}

/** How the most common clients connect. Never shows a key, only the name of its variable. */
export function clientLines({ name, url, keyed }: ClientLineFacts): string[] {
  const entry = `    {"mcpServers":{"${name}":{"url":${JSON.stringify(url)}`
  const secret = '     "headers":{"Authorization":"Bearer ${env:SERVICE_MCP_API_KEY}"}}}}'
  const header = ['    --header "Authorization: Bearer $SERVICE_MCP_API_KEY"']
  const claude = `  claude mcp add --transport http ${name} ${url}`
  const gemini = `  gemini mcp add --transport http ${name} ${url}`
  const withHeader = (line: string): string[] => (keyed ? [`${line} \\`, ...header] : [line])
  return [
    '  Claude Code:',
    ...withHeader(`  ${claude}`),
    '  Gemini CLI:',
    ...withHeader(`  ${gemini}`),
    '  Cursor, in .cursor/mcp.json (the README has VS Code and others):',
    ...(keyed ? [`${entry},`, secret] : [`${entry}}}}`]),
  ]
}
