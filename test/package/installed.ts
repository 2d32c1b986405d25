import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { delimiter, dirname, join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { expect } from 'chai'

export const root = fileURLToPath(new URL('../..', import.meta.url))
export const document = readFileSync(join(root, 'docs', 'library.md'), 'utf8')

/** The programs of the document, by the names it gives them. */
export const programs = new Map(
  Array.from(document.matchAll(/^```ts (\S+)\n(.*?)^```$/gms), ([, name = '', text = '']) => [
    name,
    text,
  ]),
)

/** Without what would change a program's decisions; children find the Node of this process first. */
export function childEnv(more: Record<string, string> = {}): NodeJS.ProcessEnv {
  const { SERVICE_MCP_API_KEY: _, NODE_OPTIONS: __, ...env } = process.env
  const path = `${dirname(process.execPath)}${delimiter}${process.env.PATH ?? ''}`
  return {
    ...env,
    PATH: path,
    npm_config_prefer_offline: 'true',
    npm_config_audit: 'false',
    ...more,
  }
}

export function run(command: string, args: readonly string[], cwd: string): string {
  const options = { cwd, env: childEnv(), encoding: 'utf8', timeout: 120_000 } as const
  const { status, stdout, stderr, error } = spawnSync(command, args, options)
  const said = `${command} ${args.join(' ')}: ${error?.message ?? ''}\n${stdout}\n${stderr}`
  expect(status, said).to.equal(0)
  return stdout
}

/** Packs this checkout and installs it, with the programs of the document, in `folder`. Returns the packed paths. */
export async function installPackage(folder: string): Promise<string[]> {
  const [report] = JSON.parse(
    run('npm', ['pack', '--ignore-scripts', '--json', '--pack-destination', folder], root),
  )
  await writeFile(join(folder, 'package.json'), '{"private":true,"type":"module"}')
  const flags = ['--no-audit', '--no-fund', '--ignore-scripts', '--prefer-offline']
  run('npm', ['install', ...flags, `./${report.filename}`], folder)
  for (const [name, text] of programs) await writeFile(join(folder, name), text)
  return report.files.map((file: { path: string }) => file.path)
}

/** Runs a program until it has said a line; the check ends with the signal and a clean exit. */
export async function running(
  file: string,
  env: Record<string, string>,
  check: (line: string) => Promise<void>,
): Promise<void> {
  const child = spawn(process.execPath, [file], {
    cwd: dirname(file),
    env: childEnv({ PORT: '0', ...env }),
    stdio: ['ignore', 'pipe', 'inherit'],
    timeout: 30_000,
  })
  const exited = once(child, 'exit')
  try {
    const lines = createInterface(child.stdout)
    const ended = exited.then(() => Promise.reject(new Error(`${file} ended without a word`)))
    const [line] = (await Promise.race([once(lines, 'line'), ended])) as [string]
    await check(line)
  } finally {
    child.kill('SIGINT')
  }
  expect(await exited, 'exit code and signal').to.deep.equal([0, null])
}

export const urlIn = (line: string) => /http:\S+\/mcp/.exec(line)?.[0] ?? `no url in ${line}`
