import { stateless, statelessMeta } from '../helpers/stateless.ts'
import {
  type Dice,
  type FuzzCase,
  type FuzzTarget,
  json,
  mutate,
  rpcMessage,
} from './fuzz-cases.ts'

/** A message of revision 2026-07-28, its envelope and headers right most of the time. */
export function statelessCase(dice: Dice, target: FuzzTarget): FuzzCase {
  const message = rpcMessage(dice, target)
  const { method, params } = fields(message)
  if (dice.oneIn(10)) Object.assign(fields(message), { method: 'subscriptions/listen' })
  const { uri } = fields(params)
  const protocolVersion = dice.oneIn(12) ? '2027-01-01' : stateless
  if (!dice.oneIn(30)) {
    Object.assign(fields(params), {
      _meta: dice.oneIn(20)
        ? json(dice, 2)
        : statelessMeta({ protocolVersion, ...(dice.oneIn(20) && wrong(dice)) }),
      ...(dice.oneIn(3) && { notifications: filter(dice, uri) }),
    })
  }
  const text = JSON.stringify(message) ?? ''
  const body = dice.oneIn(10) ? mutate(dice, Buffer.from(text)) : Buffer.from(text)
  const headers = ['Host', '127.0.0.1', 'Content-Type', 'application/json']
  const add = (name: string, right: unknown) => {
    if (dice.oneIn(40)) return
    headers.push(name, headerValue(dice.oneIn(40) ? '=?base64?e?=' : right))
    if (dice.oneIn(120)) headers.push(name, headerValue(right))
  }
  add('MCP-Protocol-Version', protocolVersion)
  add('Mcp-Method', fields(message).method ?? method)
  if (uri !== undefined) add('Mcp-Name', uri)
  if (dice.oneIn(20)) headers.push('Mcp-Session-Id', dice.pick(target.sessions))
  return { method: 'POST', path: '/mcp', headers, body }
}

function wrong(dice: Dice): Record<string, unknown> {
  const name = dice.pick(['protocolVersion', 'clientCapabilities', 'clientInfo', 'logLevel'])
  return { [name]: json(dice, 2) }
}

function filter(dice: Dice, uri: unknown): unknown {
  if (dice.oneIn(10)) return json(dice, 3)
  return {
    resourcesListChanged: dice.oneIn(20) ? json(dice, 1) : dice.oneIn(2),
    resourceSubscriptions: dice.oneIn(20) ? json(dice, 2) : ['scene://current', uri],
  }
}

/** The members of an object; for anything else those of nothing. */
function fields(value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {}
}

function headerValue(value: unknown): string {
  const text = typeof value === 'string' ? value : (JSON.stringify(value) ?? '')
  return /^[\x21-\x7e]{1,3000}$/.test(text)
    ? text
    : `=?base64?${Buffer.from(text.slice(0, 3000)).toString('base64')}?=`
}
