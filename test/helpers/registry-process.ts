import { type ChildProcess, spawn } from 'node:child_process'
import { rmSync } from 'node:fs'
import { mkdtempSync } from 'node:fs'
import { type IncomingMessage, createServer, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { cleanEnv, exitOf, firstLine, root } from './program.ts'

/** `service-cli registry` on a free port, with all that it wrote. */
export interface RegistryProcess {
  readonly url: string
  output(): string
  stop(): Promise<number | null>
}

export async function startRegistryProcess(flags: string[] = []): Promise<RegistryProcess> {
  const dataDir = mkdtempSync(join(tmpdir(), 'registry-'))
  const args = ['bin/run.js', 'registry', '--port', '0', '--json', '--data-dir', dataDir, ...flags]
  const child: ChildProcess = spawn(process.execPath, args, {
    cwd: root,
    env: cleanEnv({ HOME: dataDir }),
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream?.on('data', chunk => (output += String(chunk)))
  }
  const line = await firstLine(child.stdout)
  if (line === '') throw new Error(`the registry did not start: ${output}`)
  return {
    url: JSON.parse(line).url,
    output: () => output,
    async stop() {
      child.kill('SIGTERM')
      const code = await exitOf(child)
      rmSync(dataDir, { recursive: true, force: true })
      return code
    },
  }
}

/** Passes every request on to `target`, and remembers them. */
export interface Passage {
  readonly url: string
  readonly asked: readonly string[]
  close(): Promise<void>
}

export async function openPassage(target: string): Promise<Passage> {
  const asked: string[] = []
  const server = createServer((incoming, outgoing) => {
    asked.push(`${incoming.method} ${incoming.url}`)
    const { method, headers } = incoming
    const host = new URL(target).host
    const onward = request(target + incoming.url, { method, headers: { ...headers, host } })
    onward.on('response', (answer: IncomingMessage) => {
      outgoing.writeHead(answer.statusCode ?? 500, answer.headers)
      answer.pipe(outgoing)
    })
    onward.on('error', () => outgoing.destroy())
    incoming.pipe(onward)
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}`,
    asked,
    async close() {
      server.closeAllConnections()
      await new Promise(resolve => server.close(resolve))
    },
  }
}
