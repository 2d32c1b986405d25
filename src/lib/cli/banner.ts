import type { RegistrationMode } from '../accounts/protocol.ts'
import { labelled, wrapWords } from './format.ts'
import { paint } from './terminal.ts'
import { printable } from '../util/text.ts'

// What a user needs after starting a server. Sentences fit 80 columns; addresses and paths are never
// wrapped, so that they can be copied. No banner shows a key or a token; the link of the page has a
// code.

const columns = 80

interface Shown {
  /** The address of the server, as clients use it. */
  readonly url: string
  readonly colour: boolean
  /** How to run this program: `service-cli` or `node bin/run.js`. */
  readonly command: string
  /** The state directory, where it is not the default one: commands must name it, too. */
  readonly namedDir?: string | undefined
}

/** Access to a server with an MCP endpoint. */
interface Access {
  /** Clients need an API key. */
  readonly keyed: boolean
  /** Clients need an access token. Default false. */
  readonly tokens?: boolean
  /** That is a token of an accounts server, which clients are given as they are given a key. */
  readonly accounts?: boolean
  /** Only this machine can reach it. */
  readonly loopback: boolean
  /** A link that logs a browser in to the page, once. Null: there is no page. */
  readonly page: string | null
}

export interface BannerFacts extends Shown, Access {
  /** The name of the server in the settings of clients. */
  readonly name: string
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
  const { url, hostUrl, hostTokenFile, joins, capture, page, colour, command } = facts
  const bold = (text: string): string => paint(colour, 'bold', text)
  const window = capture === null ? '' : ', and can see the window'
  const readable = ['the scene,', `the audit log, events and artefacts${window}.`] as const
  return textOf([
    ...labelled('MCP endpoint', url, colour),
    ...pageLines(page, colour, { later: `later: ${command} page${dirWords(facts)}` }),
    ...labelled('Host link', hostUrl, colour),
    ...labelled('Host token', hostTokenFile ?? 'from SERVICE_HOST_TOKEN', colour),
    ...joins.flatMap((gateway, at) => labelled(at === 0 ? 'Joins' : '', gateway, colour)),
    ...accessLines(facts, ', the host token', readable, [
      `${bold('Window')}        ${captureLines(capture, 14).join(`\n${' '.repeat(14)}`)}`,
    ]),
    '',
    bold('Connect a client'),
    ...clientLines(facts),
    '',
    bold('Connect an application'),
    `  Blender:           ${command} adapter blender`,
    `  your own (Python): ${command} adapter python`,
    '',
    bold('Or post a scene'),
    ...sceneLines(facts),
  ])
}

export interface GatewayBannerFacts extends Shown, Access {
  readonly registryDir: string
  /** Instances of other machines can join. */
  readonly acceptsJoins: boolean
  /** Clients read the instances through it. */
  readonly aggregate: boolean
}

/** The banner of `gateway`. */
export function renderGatewayBanner(facts: GatewayBannerFacts): string {
  const { url, registryDir, acceptsJoins, aggregate, page, colour, command } = facts
  const bold = (text: string): string => paint(colour, 'bold', text)
  const readable = aggregate
    ? ([
        'which',
        'applications run, and their scenes, notes, pictures, audit logs and artefacts.',
      ] as const)
    : (['which', 'applications run, their documents and addresses.'] as const)
  return textOf([
    ...labelled('Gateway', url, colour),
    ...pageLines(page, colour),
    ...labelled('Instances', `those of ${registryDir}`, colour),
    ...(acceptsJoins ? labelled('', 'and those that join with serve --join', colour) : []),
    ...accessLines(facts, '', readable),
    '',
    bold('Connect a client'),
    ...clientLines({ ...facts, name: 'service-gateway' }, ' --gateway'),
    ...(facts.accounts === true
      ? [
          '  SERVICE_MCP_API_KEY is a service token of the user:',
          `    ${command} token create NAME --scope read`,
        ]
      : []),
    '',
    bold('See what runs'),
    `  ${command} instances${dirWords(facts)}`,
  ])
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
  const { url, registration, local, dataDir, database, colour, command } = facts
  const bold = (text: string): string => paint(colour, 'bold', text)
  const unencrypted = [
    '  Passwords and tokens cross the network unencrypted. Put a proxy with TLS in',
    '  front of it, and name its address with --public-url.',
  ]
  return textOf([
    ...labelled('Registry', url, colour),
    ...labelled('Data', dataDir, colour),
    ...(database === null ? [] : labelled('Database', database, colour)),
    `${bold('Registration')}  ${admission[registration]}`,
    ...(local || !url.startsWith('http:') ? [] : warnings(unencrypted, colour)),
    ...(registration === 'closed'
      ? []
      : [
          '',
          bold(`Make an account${local ? ', on this machine' : ', here or elsewhere'}`),
          `  export SERVICE_REGISTRY=${url}`,
          `  ${command} register`,
        ]),
  ])
}

function textOf(lines: readonly string[]): string {
  return ['', ...lines, '', 'Ctrl-C stops.', ''].map(line => `${line}\n`).join('')
}

function warnings(lines: string[], colour: boolean): string[] {
  return lines.map(line => paint(colour, 'yellow', line))
}

/** The login link of the page, on a line of its own; nothing without a page. */
export function pageLines(
  url: string | null,
  colour: boolean,
  { later, label = 'Page' }: { later?: string; label?: string } = {},
): string[] {
  if (url === null) return []
  const said = `opens once, within five minutes${later === undefined ? '' : `; ${later}`}`
  const gap = ' '.repeat(14 - label.length)
  return [`${paint(colour, 'bold', label)}${gap}${said}`, `  ${url}`]
}

/** What is checked, and a warning without authentication that says what is readable, on two lines. */
function accessLines(
  { keyed, tokens = false, loopback, colour, command }: Access & Shown,
  alsoChecked: string,
  [first, rest]: readonly [string, string],
  between: readonly string[] = [],
): string[] {
  const secret = keyed ? ', the API key' : tokens ? ', access tokens' : ''
  const checked = `${paint(colour, 'bold', 'Checked')}       Host and Origin${alsoChecked}${secret}`
  if (keyed || tokens) return [checked, ...between]
  const who = loopback ? 'every account of this machine' : 'everyone who can reach this address'
  const notice = [
    `  No API key is set: ${who} can read ${first}`,
    `  ${rest}`,
    `  To require a key: ${command} keys create`,
  ]
  return [checked, ...between, ...warnings(notice, colour)]
}

function dirWords({ namedDir }: Pick<Shown, 'namedDir'>): string {
  return namedDir === undefined ? '' : ` --registry-dir ${shellQuote(namedDir)}`
}

/** How to connect a client: with `mcp-config`, and by hand. Refers to a key, never shows it. */
function clientLines(
  facts: Pick<BannerFacts, 'name' | 'url' | 'keyed' | 'accounts' | 'command' | 'namedDir'>,
  choice = '',
): string[] {
  const { name, url, command } = facts
  const keyed = facts.keyed || facts.accounts === true
  const header = `      --header 'Authorization: Bearer \${SERVICE_MCP_API_KEY}'`
  const secret = '     "headers":{"Authorization":"Bearer ${SERVICE_MCP_API_KEY}"}}}}'
  const add = `    claude mcp add --transport http ${name} ${url}`
  return [
    `  ${command} mcp-config claude-code --write${choice}${dirWords(facts)}`,
    '  (also: claude-desktop, cursor, vscode, gemini-cli, codex, inspector, …)',
    '  or by hand:',
    ...(keyed ? [`${add} \\`, header] : [add]),
    `    {"mcpServers":{"${name}":{"type":"http",`,
    `     "url":${JSON.stringify(url)}${keyed ? ',' : '}}}'}`,
    ...(keyed ? [secret] : []),
  ]
}

/** The first line follows a heading of `indent` columns. */
function captureLines(facts: CaptureFacts | null, indent: number): string[] {
  return wrapWords(captureSentence(facts), columns - indent)
}

function captureSentence(facts: CaptureFacts | null): string {
  if (facts === null) return 'clients cannot see it: window capture is off'
  const { way, waits, trouble } = facts
  if (way !== null) return `clients can see it (${way}); --capture off hides it`
  if (trouble === null) return 'waits for an application; then clients can see it'
  const problem = `${trouble.message}; ${trouble.hint}`
  return waits ? `waits for an application that sends pictures itself: ${problem}` : problem
}

function sceneLines({ hostUrl, hostTokenFile }: BannerFacts): string[] {
  const address = `${hostUrl}/v1/scene`
  const token =
    hostTokenFile === null
      ? ['  TOKEN=$SERVICE_HOST_TOKEN']
      : ['  TOKEN=$(cat \\', `    ${shellQuote(hostTokenFile)})`]
  return [
    ...token,
    `  curl -H "Authorization: Bearer $TOKEN" -H 'Content-Type: application/json' \\`,
    `    -d '{"objects":[{"name":"Cube"}]}' ${address}`,
  ]
}

function shellQuote(path: string): string {
  return /^[\w@%+=:,./-]+$/.test(path) ? path : `'${printable(path).replaceAll("'", `'\\''`)}'`
}
