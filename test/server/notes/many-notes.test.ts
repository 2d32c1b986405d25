import { expect } from 'chai'
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { runCommand } from '../../helpers/in-process.ts'
import { RawSession, toolCall } from '../../helpers/mcp.ts'
import { serveInProcess } from '../../helpers/in-process-servers.ts'
import type { RunningServe } from '../../helpers/serve-process.ts'

const count = 1000
const long = (at: number) => `wish ${at} "<&\n${'x'.repeat(3900)}`

describe('a thousand notes of 4,000 characters', () => {
  let home: string
  let serve: RunningServe
  let session: RawSession

  before(async () => {
    home = await mkdtemp(join(tmpdir(), 'many-notes-'))
    const env = { HOME: home, XDG_DATA_HOME: join(home, 'data') }
    serve = await serveInProcess({ env, registryDir: home })
    session = await RawSession.open(serve.url)
    const targets = Array.from({ length: 100 }, (_, at) => `${at} ${'n'.repeat(240)}`)
    const { json } = await serve.post('notes', { text: long(1), targets })
    const [document = ''] = await readdir(join(home, 'data/service-cli/documents'))
    const folder = join(home, 'data/service-cli/documents', document, 'notes')
    const entry = { action: 'answer', by: 'an agent', at: '2026-01-01T00:00:00Z', text: long(0) }
    for (let number = 2; number <= count; number++) {
      const id = `f${number.toString(16).padStart(7, '0')}`
      const note = { ...json.note, id, number, text: long(number), entries: [entry] }
      await writeFile(join(folder, `${id}.json`), JSON.stringify(note))
    }
  })
  after(async () => {
    await serve.stop()
    await rm(home, { recursive: true, force: true })
  })

  const list = async (args: object) =>
    (await session.call('tools/call', toolCall('list_notes', args))).result

  it('are listed to a model in parts of max_chars, each once, and nothing is left out', async () => {
    for (const given of [{}, { max_chars: 50_000 }]) {
      const numbers: number[] = []
      let offset: number | undefined = 0
      while (offset !== undefined) {
        const { content, structuredContent: data } = await list({ state: 'all', offset, ...given })
        const { max_chars: most = 8000 } = given
        expect(content[0].text.length).to.be.at.most(most)
        expect(JSON.stringify(data).length).to.be.at.most(1.2 * most)
        expect(data.returned).to.be.greaterThan(offset === 0 ? 2 : 0)
        expect(data.total).to.equal(count)
        numbers.push(...data.notes.map(({ number }: any) => number))
        offset = data.next_offset
        if (offset !== undefined) {
          const lines = content[0].text.split('\n')
          expect(lines).to.have.length(data.returned + 2)
          expect(lines[0]).to.equal(`${data.returned} of ${count} notes`)
          expect(lines.at(-1)).to.contain(`call list_notes with offset ${offset}`)
        }
      }
      expect(numbers).to.deep.equal(Array.from({ length: count }, (_, at) => at + 1))
    }
  })

  it('are pages of 100 as a resource', async () => {
    const page = (await session.readJson('notes://all?offset=950')) as any
    expect(page).to.include({ total: count, returned: 50 }).and.not.to.have.property('next_offset')
    const first = (await session.readJson('notes://all')) as any
    expect(first).to.include({ total: count, returned: 100, next_offset: 100 })
    expect(first.notes[0].text).to.equal(long(1))
  })

  it('are one short line each in the terminal, and no more can be made', async () => {
    const env = { HOME: home, SERVICE_REGISTRY_DIR: home }
    const listed = await runCommand(['notes', 'list', '--all', `--registry-dir=${home}`], { env })
    const lines = listed.stdout.trimEnd().split('\n')
    expect(lines).to.have.length(count)
    expect(Math.max(...lines.map(line => line.length))).to.be.below(600)
    const refused = await serve.post('notes', { text: 'one more' })
    expect(refused.json.detail).to.contain('a document has at most 1000 notes')
  })
})
