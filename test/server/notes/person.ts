import { expect } from 'chai'
import { join } from 'node:path'
import { forFile, newFolder } from '../../helpers/cleanup.ts'
import { serveInProcess } from '../../helpers/in-process-servers.ts'
import { RawSession, toolCall } from '../../helpers/mcp.ts'
import type { RunningServe } from '../../helpers/serve-process.ts'

/** The server of a person with a home of its own; each test has a new document, and a session. */
export function usePerson(extension = 'blend') {
  const home = newFolder()
  const env = { HOME: home, XDG_DATA_HOME: join(home, 'data') }
  let shots = 0
  const person = {
    home,
    env,
    documents: join(home, 'data/service-cli/documents'),
    serve: undefined as unknown as RunningServe,
    session: undefined as unknown as RawSession,
    document: { path: '' },
    async start(flags: string[] = []) {
      person.serve = await forFile(() => serveInProcess({ env, registryDir: home, flags }))
      person.session = await RawSession.open(person.serve.url)
    },
    async restart(flags: string[] = []) {
      await person.serve.stop()
      await person.start(flags)
    },
    async openDocument(path: string) {
      expect((await person.post('app', { document: { path } })).status).to.equal(200)
    },
    post: (path: string, body: unknown) => person.serve.post(path, body),
    call: (method: string, params?: unknown) => person.session.call(method, params),
    read: (uri: string): Promise<any> => person.session.readJson(uri),
    tool: async (name: string, args: object = {}) =>
      (await person.call('tools/call', toolCall(name, args))).result,
    /** A new note. */
    add: async (members: object = {}) =>
      (await person.post('notes', { text: 'Too bright', ...members })).json.note,
    act: (id: string, action: string, members: object = {}) =>
      person.post(`notes/${id}/${action}`, members),
  }
  before(() => person.start())
  beforeEach(async () => {
    person.document = { path: `/shots/new-${shots++}.${extension}` }
    await person.openDocument(person.document.path)
    person.session = await RawSession.open(person.serve.url)
  })
  return person
}
