import { expect } from 'chai'
import { readdir } from 'node:fs/promises'
import { newFolder } from '../helpers/cleanup.ts'
import { freePort } from '../helpers/free-port.ts'
import { type RunningGateway, startGatewayProcess } from '../helpers/gateway-process.ts'
import { gatewayInProcess } from '../helpers/in-process-servers.ts'
import { runCommand } from '../helpers/in-process.ts'
import { RawSession } from '../helpers/mcp.ts'
import { skipBecause } from '../helpers/skip.ts'
import { until } from '../helpers/until.ts'

describe('the election of a gateway', () => {
  let registryDir: string
  let port: number

  beforeEach(async () => {
    registryDir = newFolder()
    port = await freePort()
  })

  const start = () => gatewayInProcess({ port, registryDir })
  /** For what a kill and a broken pipe do. */
  const startProcess = () => startGatewayProcess({ port, registryDir })

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

  it('yields at once when it stops', async () => {
    const active = start()
    const { url } = await active.line('listening')
    const standby = start()
    await standby.line('standby')
    const session = await RawSession.open(url)
    const events = await session.listen()
    await active.stop()
    await events.untilEnded()
    await standby.line('listening')
    await logged(standby, `after that of process ${process.pid}`)
    expect(await readEvents(url)).to.deep.equal(['contention', 'takeover'])
    // Everything that the first one wrote is gone, what the second one wrote is there.
    expect((await readdir(registryDir)).toSorted()).to.deep.equal([
      `gateway-${port}.json`,
      `gateway-${port}.owner`,
      'instances',
      `sessions-${port}.json`,
    ])
  })

  it('elects exactly one of those that stand by when the gateway is killed', async function () {
    if (process.platform !== 'linux') skipBecause(this, 'needs /proc')
    const active = startProcess()
    await active.line('listening')
    const standbys = [start(), start()]
    for (const standby of standbys) {
      const said = await standby.line('standby')
      expect(said.resident.pid).to.equal(active.pid)
      expect(said.reason).to.contain(`process ${active.pid}`)
    }
    await active.kill()
    const elected = () => standbys.filter(standby => standby.has('listening'))
    await until(() => elected().length > 0, 'one is elected')
    const [winner] = elected()
    if (winner === undefined) throw new Error('none is elected')
    const { instance_id, url } = await winner.line('listening')
    const isBehind = ({ lines }: RunningGateway) =>
      lines.some(line => line.event === 'standby' && line.resident.instance_id === instance_id)
    const others = standbys.filter(standby => standby !== winner)
    await until(() => others.every(isBehind), 'the others stand by behind the winner')
    expect(elected()).to.deep.equal([winner])
    await logged(winner, `after that of process ${active.pid}`)
    expect(await readEvents(url)).to.include.members(['contention', 'takeover'])
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
})
