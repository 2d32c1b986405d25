import type { RegistrationMode } from '../accounts/protocol.ts'
import { quoteArgument } from './format.ts'
import { paint } from './terminal.ts'

// What a user needs after starting a server. No banner shows a key or a token; the link of the page
// has a code.

const labelWidth = 14

interface Shown {
  /** The address of the server, as clients use it. */
  readonly url: string
  readonly colour: boolean
  /** The state directory, where it is not the default one: commands must name it, too. */
  readonly namedDir?: string | undefined
}

/** A server with an MCP endpoint. */
interface Access extends Shown {
  /** Clients need an API key. */
  readonly keyed: boolean
  /** Clients need an access token. Default false. */
  readonly tokens?: boolean
  /** A link that logs a browser in to the page, once. Null: there is no page. */
  readonly page: string | null
}

export interface BannerFacts extends Access {
  readonly hostUrl: string
  /** Null when the token came from the environment. */
  readonly hostTokenFile: string | null
  /** The gateways that it joins. */
  readonly joins: readonly string[]
  /** Null: window capture is off. */
  readonly capture: CaptureFacts | null
}

/** Whether clients can see the window of the application, and the reason when they cannot. */
export interface CaptureFacts {
  /** The first capture method that is available now, or null. */
  readonly way: string | null
  /** No application is connected yet. */
  readonly waits: boolean
  /** Why capture fails now, or will once an application is connected; null when it works. */
  readonly trouble: { readonly message: string; readonly hint: string } | null
}

/** The banner of `serve`. */
export function renderBanner(facts: BannerFacts): string {
  const { url, hostUrl, hostTokenFile, joins, page, colour } = facts
  const joined = joins.map(
    (gateway, at) => `${labelled(at === 0 ? 'Joins' : '', gateway, colour)}\n`,
  )
  const token =
    hostTokenFile === null ? '$SERVICE_HOST_TOKEN' : `$(cat \\\n    ${quote(hostTokenFile)})`
  return `
${labelled('MCP endpoint', url, colour)}
${pageText(page, colour, { later: `; later: service-cli page${dirFlag(facts)}` })}\
${labelled('Host link', hostUrl, colour)}
${labelled('Host token', hostTokenFile ?? 'from SERVICE_HOST_TOKEN', colour)}
${joined.join('')}\
${checkedText(facts, ', the host token')}
${labelled('Window', captureSentence(facts.capture), colour)}

${clientText(facts, '')}

${paint(colour, 'bold', 'Connect an application')}
  Blender:           service-cli adapter blender
  your own (Python): service-cli adapter python

${paint(colour, 'bold', 'Or post a scene')}
  TOKEN=${token}
  curl -H "Authorization: Bearer $TOKEN" -H 'Content-Type: application/json' \\
    -d '{"objects":[{"name":"Cube"}]}' ${hostUrl}/v1/scene

Ctrl-C stops.

`
}

export interface GatewayBannerFacts extends Access {
  readonly registryDir: string
  /** Instances of other machines can join. */
  readonly acceptsJoins: boolean
}

/** The banner of `gateway`. */
export function renderGatewayBanner(facts: GatewayBannerFacts): string {
  const { url, registryDir, acceptsJoins, page, colour } = facts
  const joins = acceptsJoins ? '\n              and those that join with serve --join' : ''
  return `
${labelled('Gateway', url, colour)}
${pageText(page, colour)}\
${labelled('Instances', `those of ${registryDir}`, colour)}${joins}
${checkedText(facts, '')}

${clientText(facts, ' --gateway')}

${paint(colour, 'bold', 'See what runs')}
  service-cli instances${dirFlag(facts)}

Ctrl-C stops.

`
}

export interface AccountsBannerFacts extends Shown {
  readonly registration: RegistrationMode
  /** Only this machine can reach it. */
  readonly local: boolean
  readonly dataDir: string
  /** Host and name of a PostgreSQL database. */
  readonly database: string | null
}

const admission: Record<RegistrationMode, string> = {
  open: 'open: everyone who can reach this address can make an account',
  invite: 'by invitation',
  closed: 'closed: no new accounts',
}

/** The banner of `registry`. */
export function renderAccountsBanner(facts: AccountsBannerFacts): string {
  const { url, registration, local, dataDir, database, colour } = facts
  const unencrypted =
    '  Passwords and tokens cross the network unencrypted. Put a proxy with TLS in\n' +
    '  front of it, and name its address with --public-url.\n'
  const where = local ? ', on this machine' : ', here or elsewhere'
  const account = `
${paint(colour, 'bold', `Make an account${where}`)}
  export SERVICE_REGISTRY=${url}
  service-cli register
`
  return `
${labelled('Registry', url, colour)}
${labelled('Data', dataDir, colour)}
${database === null ? '' : `${labelled('Database', database, colour)}\n`}\
${labelled('Registration', admission[registration], colour)}
${local || !url.startsWith('http:') ? '' : paint(colour, 'yellow', unencrypted)}\
${registration === 'closed' ? '' : account}
Ctrl-C stops.

`
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

function labelled(label: string, value: string, colour: boolean): string {
  return paint(colour, 'bold', label.padEnd(labelWidth)) + value
}

function checkedText({ keyed, tokens = false, colour }: Access, more: string): string {
  const secret = keyed ? ', the API key' : tokens ? ', access tokens' : ''
  return labelled('Checked', `Host and Origin${more}${secret}`, colour)
}

function dirFlag({ namedDir }: Pick<Shown, 'namedDir'>): string {
  return namedDir === undefined ? '' : ` --registry-dir ${quote(namedDir)}`
}

function clientText(facts: Access, choice: string): string {
  return `${paint(facts.colour, 'bold', 'Connect a client')}
  service-cli mcp-config claude-code --write${choice}${dirFlag(facts)}
  (also: claude-desktop, cursor, vscode, gemini-cli, codex, inspector, …)`
}

function captureSentence(facts: CaptureFacts | null): string {
  if (facts === null) return 'clients cannot see it: window capture is off'
  const { way, waits, trouble } = facts
  if (way !== null) return `clients can see it (${way}); --capture off hides it`
  if (trouble === null) return 'waits for an application; then clients can see it'
  const problem = `${trouble.message}; ${trouble.hint}`
  return waits ? `waits for an application that sends pictures itself: ${problem}` : problem
}

function quote(path: string): string {
  return quoteArgument(path, 'linux')
}
