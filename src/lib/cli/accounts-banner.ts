import type { RegistrationMode } from '../accounts/protocol.ts'
import { labelled } from './format.ts'
import { paint } from './terminal.ts'

export interface AccountsBannerFacts {
  readonly url: string
  readonly registration: RegistrationMode
  /** Only this machine can reach it. */
  readonly local: boolean
  readonly dataDir: string
  /** Host and name of a PostgreSQL database. */
  readonly database: string | null
  readonly colour: boolean
  /** How to run this program. */
  readonly command: string
}

const admission: Record<RegistrationMode, string> = {
  open: 'open: everyone who can reach this address can make an account',
  invite: 'by invitation',
  closed: 'closed: no new accounts',
}

/** What a user needs after starting the accounts server. */
export function renderAccountsBanner(facts: AccountsBannerFacts): string {
  const bold = (text: string): string => paint(facts.colour, 'bold', text)
  const warn = (text: string): string => paint(facts.colour, 'yellow', text)
  const unencrypted = !facts.local && facts.url.startsWith('http:')
  const lines = [
    '',
    ...labelled('Registry', facts.url, facts.colour),
    ...labelled('Data', facts.dataDir, facts.colour),
    ...(facts.database === null ? [] : labelled('Database', facts.database, facts.colour)),
    `${bold('Registration')}  ${admission[facts.registration]}`,
    ...(unencrypted ? unencryptedNotice.map(warn) : []),
    '',
    bold(`Make an account${facts.local ? ', on this machine' : ', here or elsewhere'}`),
    `  export SERVICE_REGISTRY=${facts.url}`,
    `  ${facts.command} register`,
    '',
    'Ctrl-C stops.',
    '',
  ]
  return lines.map(line => `${line}\n`).join('')
}

const unencryptedNotice = [
  '  Passwords and tokens cross the network unencrypted. Put a proxy with TLS in',
  '  front of it, and name its address with --public-url.',
]
