import { quoteArgument } from './format.ts'
import { paint } from './output.ts'

// What a user needs after starting a server. No banner shows a key or a token; the link of the page
// has a code.

const labelWidth = 14

export interface Shown {
  /** The address of the server, as clients use it. */
  readonly url: string
  readonly colour: boolean
  /** The state directory, where it is not the default one: commands must name it, too. */
  readonly namedDir?: string | undefined
}

/** The login link of the page, on a line of its own; nothing without a page. */
export function pageText(
  url: string | null,
  colour: boolean,
  { later = '', label = 'Page' }: { later?: string; label?: string } = {},
): string {
  if (url === null) return ''
  return `${labelled(label, `opens once, within five minutes${later}`, colour)}\n  ${url}\n`
}

export function labelled(label: string, value: string, colour: boolean): string {
  return paint(colour, 'bold', label.padEnd(labelWidth)) + value
}

export function dirFlag({ namedDir }: Shown): string {
  return namedDir === undefined ? '' : ` --registry-dir ${quoteArgument(namedDir, 'linux')}`
}

export function clientText(facts: Shown, choice: string): string {
  return `${paint(facts.colour, 'bold', 'Connect a client')}
  service-cli mcp-config claude-code --write${choice}${dirFlag(facts)}
  (also: claude-desktop, cursor, vscode, gemini-cli, codex, opencode, …)`
}
