import { type CaptureFacts, captureLines } from './capture-lines.ts'
import { clientLines, openNotice } from './client-lines.ts'
import { labelled } from './format.ts'
import { pageLines } from './page-lines.ts'
import { printable } from './log.ts'
import { paint } from './terminal.ts'

export interface BannerFacts {
  /** The name of the server in the settings of clients. */
  readonly name: string
  /** The MCP endpoint, as clients use it. */
  readonly url: string
  readonly hostUrl: string
  /** Null when the token came from the environment. */
  readonly hostTokenFile: string | null
  /** Clients need an API key. */
  readonly keyed: boolean
  /** Clients need an access token of an OAuth provider. Default false. */
  readonly tokens?: boolean
  /** Only this machine can reach it. */
  readonly loopback: boolean
  /** The gateway that it joins; null: none. */
  readonly joins: string | null
  /** Null: window capture is off. */
  readonly capture: CaptureFacts | null
  /** A link that logs a browser in to the page, once. Null: there is no page. */
  readonly page: string | null
  readonly colour: boolean
  /** How to run this program: `service-cli` or `node bin/run.js`. */
  readonly command: string
}

/**
 * What a user needs after starting the server. Sentences fit 80 columns; addresses and paths are
 * never wrapped, so that they can be copied. Never shows a key or a token, apart from the code in the
 * link of the page.
 */
export function renderBanner(facts: BannerFacts): string {
  const bold = (text: string): string => paint(facts.colour, 'bold', text)
  const warn = (text: string): string => paint(facts.colour, 'yellow', text)
  const lines = [
    '',
    ...labelled('MCP endpoint', facts.url, facts.colour),
    ...pageLines(facts.page, facts.colour, { later: `later: ${facts.command} page` }),
    ...labelled('Host link', facts.hostUrl, facts.colour),
    ...labelled('Host token', facts.hostTokenFile ?? 'from SERVICE_HOST_TOKEN', facts.colour),
    ...(facts.joins === null ? [] : labelled('Joins', facts.joins, facts.colour)),
    `${bold('Checked')}       Host and Origin, the host token${facts.keyed ? ', the API key' : facts.tokens ? ', access tokens' : ''}`,
    `${bold('Window')}        ${captureLines(facts.capture, 14).join(`\n${' '.repeat(14)}`)}`,
    ...(facts.keyed || facts.tokens ? [] : openNotice(facts, readable(facts)).map(warn)),
    '',
    bold('Connect a client'),
    ...clientLines(facts),
    '',
    bold('Connect an application'),
    `  Blender:           ${facts.command} adapter blender`,
    `  your own (Python): ${facts.command} adapter python`,
    '',
    bold('Or post a scene'),
    ...sceneLines(facts),
    '',
    'Ctrl-C stops.',
    '',
  ]
  return lines.map(line => `${line}\n`).join('')
}

function readable({ capture }: BannerFacts): [string, string] {
  const window = capture === null ? '' : ', and can see the window'
  return ['the scene,', `the audit log, events and artefacts${window}.`]
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
    `    -d '{"objects":["Cube"]}' ${address}`,
  ]
}

function shellQuote(path: string): string {
  return /^[\w@%+=:,./-]+$/.test(path) ? path : `'${printable(path).replaceAll("'", `'\\''`)}'`
}
