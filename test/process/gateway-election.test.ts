import { expect } from 'chai'
import { once } from 'node:events'
import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { createServer as createHttpServer } from 'node:http'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { freePort } from '../helpers/free-port.ts'
import { gatewayForms } from '../helpers/gateway-forms.ts'
import {
  type GatewayProcess,
  type RunningGateway,
  startGatewayProcess,
} from '../helpers/gateway-process.ts'
import { gatewayInProcess } from '../helpers/in-process-servers.ts'
import { runCommand } from '../helpers/in-process.ts'
import { RawSession } from '../helpers/mcp.ts'
import { skipBecause } from '../helpers/skip.ts'
import { until } from '../helpers/until.ts'

describe('the election of a gateway', () => {
  let registryDir: string
  let port: number
  const ends: (() => Promise<void>)[] = []

  beforeEach(async () => {
    registryDir = await mkdtemp(join(tmpdir(), 'gateway-election-'))
    port = await freePort()
  })
  afterEach(async () => {
    await Promise.all(ends.splice(0).map(end => end()))
    await rm(registryDir, { recursive: true, force: true })
  })

  function start(...flags: string[]): RunningGateway {
    const gateway = gatewayInProcess({ port, registryDir, flags })
    ends.push(() => gateway.stop())
    return gateway
  }

  /** For what signals and a broken pipe do. */
  function startProcess(): GatewayProcess {
    const gateway = startGatewayProcess({ port, registryDir })
    ends.push(() => gateway.kill())
    return gateway
  }

  /** The log is written a moment later. */
  function logged(gateway: RunningGateway, text: string): Promise<void> {
    return until(() => gateway.stderr().includes(text), `"${text}" in the log`)
  }

  async function readEvents(url: string): Promise<string[]> {
    const session = await RawSession.open(url)
    const { result } = await session.call('resources/read', { uri: 'resources://gateway/events' })
    const lines = result.contents[0].text.trim().split('\n')
    return lines.map((line: string) => JSON.parse(line).event)
  }

  // The other steps come before a gateway knows what it serves.
  for (const { form, flags } of gatewayForms) {
    it(`yields at once when it stops, ${form}`, () => expectYield(flags))
  }

  async function expectYield(flags: readonly string[]): Promise<void> {
    const active = start(...flags)
    const { url } = await active.line('listening')
    const standby = start(...flags)
    await standby.line('standby')
    const session = await RawSession.open(url)
    const events = await session.listen()
    await active.stop()
    await events.untilEnded()
    await standby.line('listening')
    await logged(standby, `process ${process.pid}, yielded`)
    expect(await readEvents(url)).to.include.members(['contention', 'takeover'])
    // Everything that the first one wrote is gone, what the second one wrote is there.
    expect((await readdir(registryDir)).toSorted()).to.deep.equal([
      `gateway-${port}.json`,
      'instances',
    ])
  }

  it('elects exactly one of three that stand by, and the others stand by behind it', async () => {
    const active = startProcess()
    await active.line('listening')
    const standbys = [start(), start(), start()]
    await Promise.all(standbys.map(standby => standby.line('standby')))
    await active.kill()
    const elected = () => standbys.filter(standby => standby.has('listening'))
    await until(() => elected().length > 0, 'somebody is elected')
    const [winner] = elected()
    if (winner === undefined) throw new Error('none is elected')
    const { instance_id } = await winner.line('listening')
    const behind = (standby: RunningGateway) =>
      standby.lines.some(
        line => line.event === 'standby' && line.resident.instance_id === instance_id,
      )
    const others = standbys.filter(standby => standby !== winner)
    await until(() => others.every(behind), 'the others stand by behind the winner')
    expect(elected()).to.deep.equal([winner])
    await logged(winner, `process ${active.pid}, ended without a word`)
  })

  it('takes over although nobody reads any more what it says', async () => {
    const active = start()
    const { url } = await active.line('listening')
    const standby = startProcess()
    await standby.line('standby')
    standby.child.stdout?.destroy()
    await active.stop()
    const answers = () => readEvents(url).catch((): string[] => [])
    await until(async () => (await answers()).includes('takeover'), 'it takes over')
    await standby.stop()
    expect(await standby.exited).to.deep.equal({ code: 0, signal: null })
  })

  it('ends with 0 when stopped while it stands by, with 1 where it is not to stand by', async () => {
    const active = start()
    const { url, instance_id } = await active.line('listening')
    const standby = startProcess()
    const args = ['gateway', '--no-standby', '--json', `--port=${port}`]
    const other = await runCommand([...args, `--registry-dir=${registryDir}`])
    expect(other.code, other.stderr).to.equal(1)
    const { error } = JSON.parse(other.stdout)
    expect(error.code).to.equal('port_in_use')
    expect(error.message).to.contain(`process ${process.pid}`).and.contain(instance_id)
    expect(error.hint).to.contain('--no-standby')
    await standby.line('standby')
    await standby.stop()
    expect(await standby.exited).to.deep.equal({ code: 0, signal: null })
    expect((await fetch(new URL('/readyz', url))).status).to.equal(200)
  })

  it('reports a gateway that is stopped in its tracks, and when it goes on', async function () {
    if (process.platform === 'win32') skipBecause(this, 'needs SIGSTOP')
    const active = startProcess()
    await active.line('listening')
    const standby = start('--bound=activeProbeMs=300')
    await standby.line('standby')
    active.child.kill('SIGSTOP')
    const said = await standby.line('resident_unresponsive')
    expect(said.resident.pid).to.equal(active.pid)
    expect(said.reason).to.contain(`process ${active.pid}`)
    active.child.kill('SIGCONT')
    await standby.line('resident_recovered')
    await active.kill()
    const { url } = await standby.line('listening')
    const events = await readEvents(url)
    expect(events.filter(event => event.startsWith('resident_'))).to.deep.equal([
      'resident_unresponsive',
      'resident_recovered',
    ])
  })

  it('stands by behind a hung one whose record is gone, and takes over', async function () {
    if (process.platform !== 'linux') skipBecause(this, 'needs /proc')
    const active = startProcess()
    await active.line('listening')
    active.child.kill('SIGSTOP')
    await rm(join(registryDir, `gateway-${port}.json`))
    const other = start('--bound=activeProbeMs=300')
    const said = await other.line('resident_unresponsive')
    expect(said.reason).to.contain(`process ${active.pid}`)
    // Ended by the person, as the message asks.
    await active.kill()
    await other.line('listening')
    expect(other.lines.map(({ event }) => event)).to.deep.equal([
      'resident_unresponsive',
      'listening',
    ])
  })

  describe('with a stranger on it', () => {
    const sockets = new Set<Socket>()
    let close = () => {}
    afterEach(() => {
      for (const socket of sockets) socket.destroy()
      sockets.clear()
      close()
    })

    it('ends with 1 and names it', async () => {
      const server = createHttpServer((_req, res) => res.end('{"status":"ok"}'))
      server.listen(0, '127.0.0.1')
      await once(server, 'listening')
      close = () => server.close()
      const taken = (server.address() as AddressInfo).port
      const args = ['gateway', `--port=${taken}`, `--registry-dir=${registryDir}`]
      const { code, stderr } = await runCommand(args)
      expect(code).to.equal(1)
      expect(stderr).to.contain(`port ${taken} is taken by`)
      if (process.platform === 'linux') expect(stderr).to.contain(`process ${process.pid}`)
    })

    it('fails although the stranger says nothing', async () => {
      const server = createServer(socket => sockets.add(socket)).listen(0, '127.0.0.1')
      await once(server, 'listening')
      close = () => server.close()
      const taken = (server.address() as AddressInfo).port
      const flags = ['--bound=activeProbeMs=100']
      const gateway = gatewayInProcess({ port: taken, registryDir, flags })
      const error: any = await gateway.line('listening').catch((reason: unknown) => reason)
      expect(error).to.include({ code: 'port_in_use' })
      expect(error.message).to.contain(`port ${taken}`).and.contain('does not answer')
    })
  })
})
