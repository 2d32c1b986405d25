import { expect } from 'chai'
import type { ChildProcess } from 'node:child_process'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { runCommand } from '../helpers/in-process.ts'
import { exitOf } from '../helpers/program.ts'
import { until } from '../helpers/until.ts'
import { hello, useServers } from './stdio-servers.ts'

describe('service-cli over stdio', () => {
  const { stateDir, serve, start } = useServers()

  const instances = async () =>
    (await readdir(join(stateDir(), 'instances'))).filter(name => name.endsWith('.json'))

  async function endOf(child: ChildProcess): Promise<number | null> {
    child.stdin?.end()
    return exitOf(child)
  }

  it('starts one server for clients that start together, and another one when that ends', async () => {
    const flags = ['--name', 'mine', '--log-level', 'debug', '--bound=takeoverMs=100']
    const programs = [1, 2].map(() => start('serve', '--stdio', ...flags))
    for (const program of programs) {
      program.child.stdin?.write('what is no message\n')
      program.send(hello)
      expect((await program.answer(1)).result.serverInfo.name).to.equal('service-cli')
      expect(program.lines().map(({ id, error }) => error?.code ?? id)).to.deep.equal([-32700, 1])
    }
    expect(await instances()).to.have.length(1)
    const started = ({ out }: (typeof programs)[number]) =>
      out.stderr.includes('started a server that ends with this client')
    const joined = ({ out }: (typeof programs)[number]) =>
      /joined the running server[^]*these flags have no effect/.test(out.stderr)
    await until(() => programs.some(started) && programs.some(joined), 'the lines on stderr')
    const [first, second] = programs.toSorted((one, other) => +started(other) - +started(one))
    if (first === undefined || second === undefined) throw new Error('no two programs')

    second.send({ method: 'notifications/initialized' })
    second.send({ id: 2, method: 'resources/subscribe', params: { uri: 'scene://current' } })
    await second.answer(2)
    expect(await endOf(first.child)).to.equal(0)
    const told = () => second.lines().some(({ method }) => method?.endsWith('updated'))
    await until(told, 'the update of its own server')
    await until(() => started(second), 'the line on stderr')
    expect(await endOf(second.child)).to.equal(0)
    expect(await instances()).to.have.length(0)
  })

  it('exits when the client closes stdout', async () => {
    const program = start('serve', '--stdio')
    program.send(hello)
    await program.answer(1)
    program.child.stdout?.destroy()
    program.child.stdin?.write('what needs an answer\n')
    expect(await exitOf(program.child)).to.equal(0)
  })

  it('exits 0 on SIGTERM while the client does not read, and ends its session', async () => {
    const server = await serve('--log-level', 'info')
    const program = start('connect', '--bound=maxWaitingMessages=10')
    program.child.stdin?.on('error', () => {})
    program.send(hello)
    await program.answer(1)
    program.child.stdout?.pause()
    program.child.stdin?.write('what needs an answer\n'.repeat(50_000))
    const blocked = () => (program.child.stdin?.writableLength ?? 0) > 0
    await until(blocked, 'the client to wait')
    program.child.kill('SIGTERM')
    expect(await exitOf(program.child)).to.equal(0)
    const told = '"method":"DELETE","path":"/mcp","status":204'
    await until(() => server.output().stderr.includes(told), 'the farewell')
  })

  it('exits 5 without output on stdout when no server runs', async () => {
    const ended = await runCommand(['connect', '--registry-dir', stateDir()])
    expect(ended).to.deep.include({ code: 5, stdout: '' })
    expect(ended.stderr).to.contain('no service-cli serve of yours is running')
  })
})
