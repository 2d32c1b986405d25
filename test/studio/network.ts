import { spawnSync } from 'node:child_process'
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { skipBecause } from '../helpers/skip.ts'

/** Machines of a test: network namespaces on one switch, to which this machine is connected too. */
export interface Network {
  /** Of this machine, for the others. */
  readonly addresses: readonly [string, string]
  /** What begins a command that runs on the machine. */
  within(machine: string): string[]
  /** From now on nothing comes through, and neither end is told. */
  silence(machine: string): void
  mend(machine: string): void
  remove(): void
}

function run(command: string, ...more: string[]): void {
  const [program = '', ...args] = [...command.split(' '), ...more]
  const { status, stderr, error } = spawnSync(program, args, { encoding: 'utf8' })
  if (status !== 0) throw new Error(`${command}: ${error?.message ?? stderr}`)
}

/**
 * Made in a `before` hook; skips the suite, with the reason, where that is not possible. On every
 * machine `hostname` has the addresses of this one.
 */
export function openNetwork(
  context: Mocha.Context,
  machines: readonly string[],
  hostname: string,
): Network {
  if (process.getuid?.() !== 0) skipBecause(context, 'network namespaces need root')
  if (spawnSync('bridge', ['-V']).error !== undefined) skipBecause(context, 'needs iproute2')
  const prefix = `st${process.pid}`
  const name = (machine: string) => `${prefix}-${machine}`
  const port = (machine: string) => `${prefix}${machine}`
  const subnet = `10.77.${process.pid % 250}`
  const addresses = [`${subnet}.254`, `${subnet}.253`] as const
  const all = ['switch', ...machines]
  // `ip netns exec` puts the files of this folder in place of those of /etc.
  const filesOf = (machine: string) => join('/etc/netns', name(machine))
  const remove = (): void => {
    for (const machine of all) {
      spawnSync('ip', ['netns', 'del', name(machine)])
      rmSync(filesOf(machine), { recursive: true, force: true })
    }
    spawnSync('ip', ['link', 'del', port('0')])
  }
  const state = (machine: string, value: number) =>
    run(`ip netns exec ${name('switch')} bridge link set dev ${port(machine)} state ${value}`)
  try {
    for (const machine of all) {
      run(`ip netns add ${name(machine)}`)
      run(`ip -n ${name(machine)} link set lo up`)
    }
    const inSwitch = `ip -n ${name('switch')}`
    run(`${inSwitch} link add br0 type bridge`)
    run(`${inSwitch} link set br0 up`)
    const connect = (at: string): void => {
      run(`${inSwitch} link set ${at} master br0 up`)
    }
    run(`ip link add ${port('0')} type veth peer name ${port('x')} netns ${name('switch')}`)
    connect(port('x'))
    for (const address of addresses) run(`ip addr add ${address}/24 dev ${port('0')}`)
    run(`ip link set ${port('0')} up`)
    for (const [index, machine] of machines.entries()) {
      const peer = `type veth peer name eth0 netns ${name(machine)}`
      run(`ip link add ${port(machine)} netns ${name('switch')} ${peer}`)
      connect(port(machine))
      run(`ip -n ${name(machine)} addr add ${subnet}.${index + 1}/24 dev eth0`)
      run(`ip -n ${name(machine)} link set eth0 up`)
      mkdirSync(filesOf(machine), { recursive: true })
      const lines = addresses.map(address => `${address} ${hostname}\n`)
      const hosts = readFileSync('/etc/hosts', 'utf8') + lines.join('')
      writeFileSync(join(filesOf(machine), 'hosts'), hosts)
    }
  } catch (error) {
    remove()
    throw error
  }
  return {
    addresses,
    within: machine => ['ip', 'netns', 'exec', name(machine)],
    silence: machine => state(machine, 0),
    mend: machine => state(machine, 3),
    remove,
  }
}
