import { clientLines, openNotice } from './client-lines.ts'
import { labelled } from './format.ts'
import { pageLines } from './page-lines.ts'
import { paint } from './terminal.ts'

const readable = ['which', 'applications run, their documents and addresses.'] as const

export interface GatewayBannerFacts {
  /** The MCP endpoint, as clients use it. */
  readonly url: string
  readonly registryDir: string
  /** Clients need an API key. */
  readonly keyed: boolean
  /** Clients need an access token of an OAuth provider. Default false. */
  readonly tokens?: boolean
  /** Only this machine can reach it. */
  readonly loopback: boolean
  /** A link that logs a browser in to the page, once. Null: there is no page. */
  readonly page: string | null
  readonly colour: boolean
  /** How to run this program. */
  readonly command: string
}

/** What a user needs after starting the gateway. Never shows a key; the link of the page has a code. */
export function renderGatewayBanner(facts: GatewayBannerFacts): string {
  const bold = (text: string): string => paint(facts.colour, 'bold', text)
  const warn = (text: string): string => paint(facts.colour, 'yellow', text)
  const lines = [
    '',
    ...labelled('Gateway', facts.url, facts.colour),
    ...pageLines(facts.page, facts.colour),
    ...labelled('Instances', `those of ${facts.registryDir}`, facts.colour),
    `${bold('Checked')}       Host and Origin${facts.keyed ? ', the API key' : facts.tokens ? ', access tokens' : ''}`,
    ...(facts.keyed || facts.tokens ? [] : openNotice(facts, readable).map(warn)),
    '',
    bold('Connect a client'),
    ...clientLines({ ...facts, name: 'service-gateway', isGateway: true }),
    '',
    bold('See what runs'),
    `  ${facts.command} instances`,
    '',
    'Ctrl-C stops.',
    '',
  ]
  return lines.map(line => `${line}\n`).join('')
}
