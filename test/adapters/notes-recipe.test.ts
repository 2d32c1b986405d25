import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { expect } from 'chai'
import { until } from '../helpers/until.ts'
import { RawSession, toolCall } from '../helpers/mcp.ts'
import { runProgram } from '../helpers/program.ts'
import { type ServeProcess, startServeProcess } from '../helpers/serve-process.ts'

describe('the application of docs/notes.md', function () {
  this.timeout(60_000)
  let home: string
  let serve: ServeProcess

  before(async () => {
    home = await mkdtemp(join(tmpdir(), 'notes-recipe-'))
    const env = { HOME: home, XDG_DATA_HOME: join(home, 'data') }
    serve = await startServeProcess({ env, registryDir: home })
  })
  after(async () => {
    await serve.stop()
    await rm(home, { recursive: true, force: true })
  })

  it('makes a note, shows the answer, and its pictures prove it', async () => {
    const docs = await readFile(new URL('../../docs/notes.md', import.meta.url), 'utf8')
    const [, program = ''] = /```python\n(.*?)```/s.exec(docs) ?? []
    expect(program.split('\n')).to.have.length.below(75)
    await writeFile(join(home, 'squares.py'), program)
    const out = join(home, 'service_host_link')
    const written = await runProgram(['adapter', 'python', '--out', out])
    expect(written.code, written.stderr).to.equal(0)
    const env = { ...process.env, SERVICE_REGISTRY_DIR: home }
    const app = spawn('python3', [join(home, 'squares.py')], {
      env,
      stdio: ['pipe', 'pipe', 'inherit'],
    })
    const ended = once(app, 'exit')
    const lines: string[] = []
    createInterface({ input: app.stdout }).on('line', line => lines.push(line))
    const type = (text: string) => app.stdin.write(`${text}\n`)
    try {
      const session = await RawSession.open(serve.url)
      const hasScene = async () => (await session.readJson('scene://current')).objects !== undefined
      await until(hasScene, 'the scene')
      type('note Move it to the middle')
      await until(async () => lines.includes('1 open Move it to the middle'), 'the note')
      type('move Ball 7 4')
      type('move Box 1 1')
      const moved = async () =>
        (await session.readJson('scene://current')).objects[1].translate[0] === 1
      await until(moved, 'the changes')
      const given = { id: '1', text: 'done' }
      const { result } = await session.call('tools/call', toolCall('answer_note', given))
      const { proof } = result.structuredContent
      expect(proof.asked).to.deep.equal(['Ball moved by (5.00, 2.00, 0.00)'])
      expect(proof.also_changed).to.deep.equal(['Box moved by (-9.00, -4.00, 0.00)'])
      // Four squares of 8 by 8 pixels in a picture of 128 by 72: two left, two came.
      expect(proof.difference.share).to.equal((4 * 64) / (128 * 72))
      expect(proof.difference.box).to.deep.equal({ left: 8, top: 8, width: 80, height: 40 })
      await until(async () => lines.includes('1 answered Move it to the middle'), 'the answer')
      type('accept')
      await until(async () => lines.includes('1 accepted Move it to the middle'), 'the acceptance')
      type('quit')
      expect((await ended)[0]).to.equal(0)
    } finally {
      app.kill()
    }
  })
})
