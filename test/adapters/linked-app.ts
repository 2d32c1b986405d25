import { expect } from 'chai'
import { type LinkOptions, needPython, PythonApp } from './python-driver.ts'
import { type Script, ScriptedServer, token } from './scripted-server.ts'

/** Starts servers and applications for the tests of a suite; they end after each test. */
export function useLinkedApps() {
  const servers: ScriptedServer[] = []
  const apps: PythonApp[] = []

  before(function () {
    needPython(this)
  })
  afterEach(async () => {
    const ended = apps.splice(0)
    for (const app of ended) await app.kill()
    for (const server of servers.splice(0)) await server.stop()
    for (const { output } of ended) {
      expect(output).not.to.contain(token)
      expect(output).not.to.contain('Traceback')
    }
  })

  async function serve(script?: Script): Promise<ScriptedServer> {
    const server = await ScriptedServer.start(script)
    servers.push(server)
    return server
  }

  function launch(env?: Record<string, string>): PythonApp {
    const app = new PythonApp(env)
    apps.push(app)
    return app
  }

  /** A server that behaves by the script, and an application that is linked to it. */
  async function link(script?: Script, args: object = {}, options: LinkOptions = {}) {
    const server = await serve(script)
    const app = launch()
    await app.link({ url: server.url, token, ...args }, options)
    return { server, app }
  }

  return { serve, launch, link }
}
