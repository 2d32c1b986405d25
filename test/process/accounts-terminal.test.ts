import { expect } from 'chai'
import { spawn, spawnSync } from 'node:child_process'
import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import {
  type AccountHome,
  type LiteralAccounts,
  createAccountHome,
  startLiteralAccounts,
} from '../helpers/account-home.ts'
import { type Step, exitOf, root, textOf } from '../helpers/program.ts'
import { skipBecause } from '../helpers/skip.ts'

// No part of it appears in a prompt or an address.
const password = 'typed Secret Ending'

const [ctrlC, ctrlT, ctrlZ] = ['\u0003', '\u0014', '\u001a']

/** The interpreter itself, since the `python3` of a version manager starts dozens of shells first. */
const findPython = ['-c', 'import pty, select, sys; print(sys.executable)']
const python = String(spawnSync('python3', findPython, { encoding: 'utf8' }).stdout ?? '').trim()

describe('service-cli on a terminal', () => {
  let registry: LiteralAccounts
  let home: AccountHome

  before(async function () {
    if (python === '') skipBecause(this, 'there is no python3 with pty on this machine')
    registry = await startLiteralAccounts()
    home = createAccountHome(registry.url)
  })

  /** Runs a program on a pseudo-terminal; the screen is all that appeared there, echo included. */
  async function runOnTerminal(command: readonly string[], steps: readonly Step[]) {
    const words = ['-IS', '-c', driver, JSON.stringify(steps), ...command]
    const env = home.env({ NODE: process.execPath, TERM: 'xterm' })
    const child = spawn(python, words, { cwd: root, env, stdio: ['ignore', 'pipe', 'inherit'] })
    const [screen, code] = await Promise.all([textOf(child.stdout), exitOf(child)])
    home.remember({ args: command, code, stdout: screen, stderr: '' })
    return { code, screen }
  }
  const type = (args: readonly string[], steps: readonly Step[]) =>
    runOnTerminal([process.execPath, 'bin/run.js', ...args], steps)

  it('asks for all that registration needs, the password twice, and shows nothing of it', async () => {
    const { code, screen } = await type(
      ['register'],
      [
        { await: 'Username:', send: 'alice\r' },
        { await: 'Email:', send: 'alice@studio.example\r' },
        { await: 'New password:', send: 'short\r' },
        { await: 'at least 8', send: `${'\u007f'.repeat(5)}${password}\r` },
        { await: 'again:', send: `${password}\r` },
      ],
    )
    expect(code, screen).to.equal(0)
    expect(screen).to.contain('registered alice').and.contain('logged in')
    expect(screen).not.to.contain('short').and.not.contain(password)
  })

  it('ends with 130 on Ctrl-C at the prompt, with nothing saved, sent or shown', async () => {
    const before = home.config()
    const asked = registry.asked.length
    const { code, screen } = await type(
      ['login', 'alice'],
      [
        // Ctrl-T would show a password that is typed.
        { await: 'Password:', send: `half of it${ctrlT}` },
        // Written again after each key.
        { await: 'masked', send: ctrlC },
      ],
    )
    expect(code, screen).to.equal(130)
    expect(screen).not.to.match(/half of it|\*\*\*\*|error|Error|\s+at .*:\d+:\d+/)
    // The cursor is shown again.
    expect(screen.lastIndexOf('\u001b[?25h')).to.be.greaterThan(screen.lastIndexOf('\u001b[?25l'))
    expect(home.config()).to.equal(before)
    expect(registry.asked).to.have.length(asked)
  })

  it('is cancelled by Ctrl-Z and fg, and shows nothing of the password', async function () {
    if (!existsSync('/bin/bash')) skipBecause(this, 'there is no /bin/bash for job control')
    const asked = registry.asked.length
    const settings = join(home.folder, 'bashrc')
    writeFileSync(settings, "PS1='READY> '\n")
    const bash = ['/bin/bash', '--noprofile', '--rcfile', settings, '-i']
    const { screen, code } = await runOnTerminal(bash, [
      { await: 'READY> ', send: '"$NODE" bin/run.js login alice\r' },
      { await: 'Password:', send: password.slice(0, 8) },
      { await: 'masked', send: ctrlZ },
      { await: 'READY> ', send: 'fg\r' },
      { await: 'READY> ', send: 'exit\r' },
    ])
    expect(code, screen).to.equal(130)
    expect(screen).to.contain('Stopped')
    expect(registry.asked).to.have.length(asked)
  })

  it('has shown no password and no token', () => {
    expect(registry.secrets).to.include(password)
    expect(home.leaks([...registry.secrets, 'half of it', password.slice(0, 8)])).to.deep.equal([])
  })
})

const driver = `
import json, os, pty, select, sys, time
steps, argv = json.loads(sys.argv[1]), sys.argv[2:]
pid, fd = pty.fork()
if pid == 0:
    os.execv(argv[0], argv)
seen, at, deadline = b'', 0, time.time() + 60
while time.time() < deadline:
    if not select.select([fd], [], [], 0.1)[0]:
        continue
    try:
        chunk = os.read(fd, 65536)
    except OSError:
        break
    if not chunk:
        break
    seen += chunk
    if steps and seen.find(steps[0]['await'].encode(), at) >= 0:
        at = len(seen)
        os.write(fd, steps.pop(0)['send'].encode())
else:
    os.kill(pid, 9)
sys.stdout.buffer.write(seen)
sys.stdout.flush()
status = os.waitpid(pid, 0)[1]
sys.exit(os.WEXITSTATUS(status) if os.WIFEXITED(status) else 99)
`
