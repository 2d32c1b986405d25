import { expect } from 'chai'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { newFolder } from '../helpers/cleanup.ts'
import { RawSession } from '../helpers/mcp.ts'
import { type ServeProcess, startServeProcess } from '../helpers/serve-process.ts'

const rounds = Number(process.env['KILL_ROUNDS'] ?? 2)
/** A document has at most 1,000 notes: a few rounds share one. */
const roundsPerDocument = 5
const notesPerRound = 60

/** What a server said that it has kept, by id. */
type Kept = Map<string, { number: number; text: string; answer?: string }>

describe('notes of servers that are killed while they are written', function () {
  this.timeout(60_000 + rounds * 20_000)

  it('are all there that were acknowledged, whole, and numbered in order', async () => {
    const folder = newFolder()
    for (let first = 0; first < rounds; first += roundsPerDocument) {
      const data = join(folder, String(first))
      const last = Math.min(rounds, first + roundsPerDocument)
      await writeAndKill(data, last - first)
    }
  })
})

async function writeAndKill(data: string, count: number): Promise<void> {
  const env = { XDG_DATA_HOME: data }
  const survivor = await startServeProcess({ env })
  const kept: Kept = new Map()
  for (let round = 0; round < count; round++) {
    const server = await startServeProcess({ env })
    const isKilled = new AbortController()
    const kill = async () => {
      await sleep(100 + Math.random() * 500)
      isKilled.abort()
      server.signal('SIGKILL')
      await server.exited
    }
    await Promise.all([
      kill(),
      post(server, kept, `posted ${round}`, isKilled.signal),
      post(server, kept, `posted at once ${round}`, isKilled.signal),
      post(survivor, kept, `posted beside it ${round}`, isKilled.signal),
    ])
    // What the dead one had locked is free.
    const after = await survivor.post('notes', { text: `after ${round}` })
    expect(after.status, after.text).to.equal(200)
    kept.set(after.json.note.id, after.json.note)
    await server.stop()
    await checkNotes(survivor, kept)
  }
  await checkFiles(join(data, 'service-cli/documents'))
  expect(survivor.output().stderr).not.to.contain('a note cannot be read')
}

/** Makes notes one after the other, and answers each, until the server is killed. */
async function post(
  server: ServeProcess,
  kept: Kept,
  what: string,
  killed: AbortSignal,
): Promise<void> {
  const gone = () => undefined
  const answers: Promise<unknown>[] = []
  for (let at = 0; at < notesPerRound && !killed.aborted; at++) {
    const text = `${what} ${at} ${'x'.repeat(2000)}`
    const made = await server.post('notes', { text }).catch(gone)
    if (made?.status !== 200) continue
    const { id, number } = made.json.note
    kept.set(id, { number, text })
    // It is acknowledged only when it is proved.
    const answer = `answer to ${what} ${at}`
    const answering = server.post(`notes/${id}/answer`, { text: answer }).catch(gone)
    answers.push(
      answering.then(answered => {
        if (answered?.status === 200) kept.set(id, { number, text, answer })
      }),
    )
  }
  await Promise.all(answers)
}

async function checkNotes(server: ServeProcess, kept: Kept): Promise<void> {
  const session = await RawSession.open(server.url)
  const { notes } = (await session.readJson('notes://all')) as any
  expect(notes.map(({ number }: any) => number)).to.deep.equal(
    Array.from({ length: notes.length }, (_, at) => at + 1),
  )
  const found = new Map<string, any>(notes.map((note: any) => [note.id, note]))
  for (const [id, { number, text, answer }] of kept) {
    expect(found.get(id), `${number}: ${text.slice(0, 40)}`).to.include({ number, text })
    if (answer !== undefined) expect(found.get(id).last.text).to.equal(answer)
  }
}

async function checkFiles(documents: string): Promise<void> {
  const files = await readdir(documents, { recursive: true })
  // A note that was being made lies in a folder whose name ends with .tmp.
  const notes = files.filter(file => /(?<!\.tmp.)\d{4}-(add|answer|proof)\.json$/.test(file))
  expect(notes).not.to.be.empty
  for (const file of notes) {
    const text = await readFile(join(documents, file), 'utf8')
    expect(() => JSON.parse(text), file).not.to.throw()
  }
}
