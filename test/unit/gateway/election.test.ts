import { randomUUID } from 'node:crypto'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'chai'
import { processStart } from '../../../src/lib/instances/process.ts'
import { ServiceError } from '../../../src/lib/util/errors.ts'
import { Secret } from '../../../src/lib/util/secret.ts'
import {
  type ActiveGateway,
  listActiveGateways,
  removeActiveGateway,
  writeActiveGateway,
} from '../../../src/server/gateway/active-gateway.ts'
import { acquirePort } from '../../../src/server/gateway/election.ts'
import { newFolder } from '../../helpers/cleanup.ts'
import { failureOf } from '../../helpers/failure.ts'
import { until } from '../../helpers/until.ts'

const port = 9765

function makeGateway(changes: Partial<ActiveGateway> = {}): ActiveGateway {
  return {
    instance_id: randomUUID(),
    pid: process.pid,
    pid_start: processStart(process.pid),
    url: `http://127.0.0.1:${port}/mcp`,
    aggregate: true,
    ...changes,
  }
}

describe('the gateway of a port', () => {
  let registryDir: string
  beforeEach(() => (registryDir = newFolder()))

  const write = (gateway: ActiveGateway, at = port) =>
    writeActiveGateway(registryDir, at, gateway, new Secret('token'))
  const taken = () => Promise.reject(new ServiceError('port_in_use', 'port 9765 is in use'))

  /** An election whose port is never free unless `bind` says so. */
  function run(rules: Partial<Parameters<typeof acquirePort>[0]> = {}) {
    const stop = new AbortController()
    const told: string[] = []
    const won = acquirePort({
      host: '127.0.0.1',
      port,
      registryDir,
      standby: true,
      bind: taken,
      notify: ({ event, resident }) => told.push(`${event} ${resident?.instance_id ?? ''}`.trim()),
      signal: stop.signal,
      ...rules,
    })
    won.catch(() => {})
    return { won, told, stop }
  }

  it('stands by behind a gateway, which it tells once of each, and takes over', async () => {
    const [first, second] = [makeGateway(), makeGateway()]
    await write(first)
    let isFree = false
    const { won, told } = run({ bind: async () => (isFree ? undefined : taken()) })
    await until(() => told.length === 1, 'it stands by')
    await write(second)
    await until(() => told.length === 2, 'it stands by behind the other')
    isFree = true
    expect(await won).to.deep.equal(second)
    expect(told).to.deep.equal([
      `contention ${first.instance_id}`,
      `contention ${second.instance_id}`,
    ])
  })

  it('is no gateway without a file of one that runs: the election fails, or goes on when it waits for the port', async () => {
    const [bare, killed, damaged] = [1, 2, 3]
    await write(makeGateway({ pid: 2 ** 22 + 5 }), killed)
    await writeFile(join(registryDir, `gateway-${damaged}.json`), '{"pid":1}', { mode: 0o600 })
    const all = [bare, killed, damaged].map(async at => {
      const { told, stop, won } = run({ port: at, waitForPort: true })
      const error = await failureOf(() => run({ port: at }).won)
      expect(error).to.include({ code: 'port_in_use' })
      await until(() => told.length === 1, 'it is told')
      expect(told).to.deep.equal(['port_taken'])
      const reason = new Error('stopped')
      stop.abort(reason)
      expect(await won.catch((cause: unknown) => cause)).to.equal(reason)
    })
    await Promise.all(all)
  })

  it('waits on behind another program that came in between', async () => {
    const gateway = makeGateway()
    await write(gateway)
    const { told, stop } = run()
    await until(() => told.length === 1, 'it stands by')
    await removeActiveGateway(registryDir, port, gateway.instance_id)
    await until(() => told.length === 2, 'it tells of the other program')
    expect(told[1]).to.equal('port_taken')
    stop.abort()
  })

  it('is listed while it runs, and removes only its own file', async () => {
    const gateway = makeGateway()
    await write(gateway)
    await removeActiveGateway(registryDir, port, randomUUID())
    expect(await listActiveGateways(registryDir)).to.deep.equal([{ port, active: gateway }])
    await removeActiveGateway(registryDir, port, gateway.instance_id)
    expect(await listActiveGateways(registryDir)).to.deep.equal([])
  })
})
