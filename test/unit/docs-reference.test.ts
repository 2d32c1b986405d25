import { globSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import Serve from '../../src/commands/serve.ts'
import { defaultLimits } from '../../src/lib/config/limits.ts'
import { type ErrorCode, errorTable, ServiceError } from '../../src/lib/util/errors.ts'
import { Secret } from '../../src/lib/util/secret.ts'
import { problemTable } from '../../src/server/accounts/problems.ts'
import { toProblem } from '../../src/server/http/problem.ts'
import { rpcCodes, toRpcError } from '../../src/server/mcp/errors.ts'
import { failureOf } from '../helpers/failure.ts'
import { root } from '../helpers/program.ts'
import { clientOf, sendJson, startAnswering } from '../server/accounts-client/support.ts'

const path = join(root, 'docs/reference.md')
const page = readFileSync(path, 'utf8')

const units: Readonly<Record<string, number>> = {
  MiB: 1024 ** 2,
  GiB: 1024 ** 3,
  s: 1000,
  h: 3_600_000,
  days: 86_400_000,
}

/** The value in the unit of the limit's name; words such as "sessions" count as 1. */
function valueOf(text = ''): number {
  const [number = '', unit = ''] = text.split(' ')
  return Number(number) * (units[unit] ?? 1)
}

describe('docs/reference.md', () => {
  it('has one row for every limit, with its default', () => {
    const rows = page.matchAll(/^\| `(\w+)` \| (\d[^|]*?) \| [^|]{10,}\|$/gm)
    const documented = Array.from(rows, ([, name, text]) => [name, valueOf(text)])
    const limits = Object.entries({ ...defaultLimits, accessTokenMs: 24 * 3_600_000 })
    expect(documented).to.have.deep.members(limits)
  })

  it('has a row for each variable that the program reads', () => {
    const files = globSync('src/**/*.ts', { cwd: root })
    const names = files.flatMap(file => {
      const code = readFileSync(join(root, file), 'utf8')
      return Array.from(code.matchAll(/\bSERVICE_[A-Z_]+\b/g), ([name]) => name)
    })
    // The code of a warning.
    const read = new Set(names).difference(new Set(['SERVICE_AUTH_DISABLED']))
    const rows = page.matchAll(/^\| `(SERVICE_\w+)` \|/gm)
    const documented = Array.from(rows, ([, name = '']) => name)
    expect(documented.toSorted()).to.deep.equal([...read].toSorted())
  })

  it('has each flag of serve, with its default', () => {
    const [, section = ''] = /^## `service-cli serve`$(.*?)^## /ms.exec(page) ?? []
    const rows = section.split('\n').filter(line => line.startsWith('| `--'))
    const documented = rows.flatMap(row => {
      const [, flags = '', text = ''] = row.split('|')
      return Array.from(flags.matchAll(/--([a-z-]+)/g), ([, flag = '']) => [flag, text] as const)
    })
    const flags = Object.keys(Serve.flags)
    expect(documented.map(([flag]) => flag)).to.have.members(flags)
    const defaults = new Map(documented)
    for (const [name, flag] of Object.entries(Serve.flags)) {
      const value: unknown = 'default' in flag ? flag.default : undefined
      if (typeof value === 'string' || typeof value === 'number') {
        expect(defaults.get(name), name).to.match(new RegExp(`\\b${value}\\b`))
      }
    }
  })

  it('has every exit code and every code of JSON-RPC', () => {
    for (const { exit } of Object.values(errorTable)) expect(page).to.include(`\n| ${exit} | `)
    for (const code of Object.values(rpcCodes)) expect(page).to.match(new RegExp(`\\s${code}\\b`))
  })

  it('has the error codes of the sources (UPDATE_DOCS=1 writes them)', async () => {
    const updated = page.replace(/^\| Code \| HTTP \|.*\n(?:\|.*\n)*/m, await errorRows())
    if (process.env.UPDATE_DOCS) writeFileSync(path, updated)
    else expect(page).to.equal(updated)
  })
})

/** Every error code with what a caller sees of it. */
async function errorRows(): Promise<string> {
  const codes = Object.keys(errorTable) as ErrorCode[]
  const main = codes.map(code => {
    const error = new ServiceError(code, '')
    const numbers = [toRpcError(error, 'session').code, toRpcError(error, 'stateless').code]
    const rpc = [...new Set(numbers)].filter(number => number !== rpcCodes.internalError)
    const { status, meaning } = errorTable[code]
    const http = status === undefined ? '' : toProblem(error).status
    return [`\`${code}\``, http, rpc.join(', '), error.oclif.exit, meaning]
  })
  const exits = await accountsExits()
  // A code that both kinds of servers use alike has one row.
  const isKnown = (code: string, status: number) => {
    const same = codes.find(each => each.replaceAll('_', '-') === code)
    return same && errorTable[same].status === status && errorTable[same].exit === exits.get(status)
  }
  const accounts = Object.entries(problemTable)
    .filter(([code, { status }]) => !isKnown(code, status))
    .map(([code, { status, meaning }]) => [`\`${code}\``, status, '', exits.get(status), meaning])
  const rows = [
    ['Code', 'HTTP', 'JSON-RPC', 'Exit', 'Meaning'],
    ['---', '---', '---', '---', '---'],
    ...main,
    ['**of the accounts server**', '', '', '', ''],
    ...accounts,
  ]
  return rows.map(cells => `| ${cells.join(' | ')} |\n`).join('')
}

/** The exit code of a command for each status of the accounts server. */
async function accountsExits(): Promise<Map<number, number>> {
  const exits = new Map<number, number>()
  const answer: Parameters<typeof startAnswering>[0] = ({ body }, res) =>
    sendJson(res, Number(body.username), {})
  const { url } = await startAnswering(answer)
  const client = clientOf(url)
  for (const { status } of Object.values(problemTable)) {
    const error = await failureOf(() => client.login(String(status), new Secret('password')))
    exits.set(status, error.oclif.exit)
  }

  return exits
}
