import { jsonFault } from '../../../lib/mcp/json-fault.ts'
import { omitUndefined } from '../../../lib/util/members.ts'
import { cleanText } from '../../../lib/util/text.ts'
import { isJsonObject, parseJson } from '../../../lib/util/json.ts'
import { MemberReader, pointerTo } from '../../../lib/host-link/member-reader.ts'
import { fail, ok, type Result } from '../../../lib/util/result.ts'
import {
  type CatalogEntry,
  type CatalogInstall,
  type CatalogPackage,
  type CatalogRequirements,
  installTypes,
  packageFormats,
  targetKinds,
} from './catalog-entry.ts'

/** Entries of a catalog. */
export const maxCatalogEntries = 1000

/** Characters of a description. */
const maxCatalogTextChars = 4000

/** Items of one list of an entry. */
const maxCatalogItems = 100

const maxDepth = 16

/** The text of a catalog file, checked whole. The failure names the entry and the member. */
export function parseCatalog(text: string): Result<readonly CatalogEntry[], string> {
  const json = parseJson(text, maxDepth)
  if (!json.ok) {
    return fail(
      json.failure === 'depth'
        ? `it nests more than ${maxDepth} levels deep`
        : `it is not valid JSON: ${jsonFault(text)}`,
    )
  }
  const top = new MemberReader(json.value, '')
  top.required('schema_version', top.integer('schema_version', 1, 1), 1)
  top.text('name')
  const values = top.any('entries')
  if (!Array.isArray(values)) top.refuse('entries', 'must be a list')
  if (top.failure !== null) return fail(describe('the catalog', top.failure))
  return parseEntries(values as unknown[])
}

function parseEntries(values: readonly unknown[]): Result<readonly CatalogEntry[], string> {
  if (values.length > maxCatalogEntries) {
    return fail(`it has more than ${maxCatalogEntries} entries`)
  }
  const entries: CatalogEntry[] = []
  const places = new Map<string, number>()
  for (const [at, value] of values.entries()) {
    const reader = new EntryReader(value, '')
    const parsed = reader.finish(readEntry(reader))
    if (!parsed.ok) return fail(describe(titleOf(value, at), parsed.failure))
    const { name } = parsed.value
    const before = places.get(name)
    if (before !== undefined) {
      return fail(`${titleOf(value, at)}: member name: is also that of entry ${before + 1}`)
    }
    places.set(name, at)
    entries.push(parsed.value)
  }
  return ok(entries)
}

function readEntry(from: EntryReader): CatalogEntry {
  const name = from.matching('name', nameForm, 'letters, digits, ".", "_" and "-"')
  return {
    name: from.required('name', name, ''),
    description: from.required('description', from.description('description'), ''),
    ...omitUndefined({
      dcc: from.labels('dcc'),
      targets: from.objects('targets', target => ({
        kind: target.required('kind', target.word('kind', targetKinds), ''),
        id: target.required('id', target.label('id'), ''),
      })),
      url: from.url('url'),
      tags: from.labels('tags'),
      version: from.label('version'),
      min_core_version: from.label('min_core_version'),
      install: from.object('install', readInstall),
      package: from.object('package', readPackage),
      maintainer: from.label('maintainer'),
      category: from.label('category'),
      policy: from.object('policy', policy =>
        omitUndefined({ installation: policy.label('installation') }),
      ),
      requires: from.object('requires', readRequirements),
      icon: from.url('icon'),
      showcase: from.urls('showcase'),
      docs: from.url('docs'),
      license: from.label('license'),
    }),
  }
}

function readInstall(from: EntryReader): CatalogInstall {
  const type = from.required('type', from.word('type', installTypes), 'path')
  const install = omitUndefined({
    url: from.url('url'),
    ref: from.matching('ref', /^[0-9a-f]{40}$/, '40 hexadecimal digits in lower case'),
    sha256: from.matching('sha256', /^[0-9a-f]{64}$/, '64 hexadecimal digits in lower case'),
    skillRoots: from.labels('skillRoots'),
    pip_package: from.label('pip_package'),
    pip_extras: from.labels('pip_extras'),
    python_path: from.label('python_path'),
    entry_point: from.label('entry_point'),
    instructions_url: from.url('instructions_url'),
    command: from.labels('command'),
  })
  const needed = neededBy[type]
  if (needed !== null) from.required<unknown>(needed, install[needed], null)
  return { type, ...install }
}

/** Without which a reader could not begin. */
const neededBy = {
  git: 'url',
  zip: 'url',
  pip: 'pip_package',
  command: 'command',
  path: null,
} as const

function readPackage(from: EntryReader): CatalogPackage {
  return {
    format: from.required('format', from.word('format', packageFormats), 'adapter'),
    ...omitUndefined({
      skills: from.labels('skills'),
      components: from.objects('components', component => ({
        kind: component.required('kind', component.label('kind'), ''),
        id: component.required('id', component.label('id'), ''),
        ...omitUndefined({ root: component.label('root') }),
      })),
    }),
  }
}

function readRequirements(from: EntryReader): CatalogRequirements {
  return omitUndefined({
    env: from.labels('env'),
    bins: from.labels('bins'),
    python: from.label('python'),
    skills: from.labels('skills'),
  })
}

/** As it stands in a URI, without any escape. */
const nameForm = /^[A-Za-z0-9][A-Za-z0-9._-]*$/

function titleOf(value: unknown, at: number): string {
  const name = isJsonObject(value) ? value.name : undefined
  const known = typeof name === 'string' && name.length <= 64 && nameForm.test(name)
  return known ? `entry ${at + 1} ("${name}")` : `entry ${at + 1}`
}

function describe(title: string, failure: { pointer: string; detail: string }): string {
  // The name may be any text of the file.
  const member = cleanText(failure.pointer.slice(1).replaceAll('/', '.'))
  return member === ''
    ? `${title} ${failure.detail}`
    : `${title}: member ${member}: ${failure.detail}`
}

const maxLabelChars = 255
const maxUrlChars = 2048

/** Reads the members of a catalog entry; what is absent stays undefined. */
class EntryReader extends MemberReader {
  readonly #own: string

  constructor(value: unknown, pointer: string) {
    super(value, pointer)
    this.#own = pointer
  }

  label(name: string): string | undefined {
    return this.name(name, maxLabelChars)
  }

  /** The one text that may have lines. */
  description(name: string): string | undefined {
    const most = maxCatalogTextChars
    const text = this.text(name)
    if (text === undefined) return undefined
    if (text.trim() === '') return this.refuse(name, 'must not be empty')
    if (text.length > most) return this.refuse(name, `must not be longer than ${most} characters`)
    if (controls.test(text)) return this.refuse(name, 'must not have control characters')
    return text
  }

  /** Where a person reads on: nothing that a browser would run. */
  url(name: string): string | undefined {
    const text = this.name(name, maxUrlChars)
    if (text === undefined || isWebUrl(text)) return text
    return this.refuse(name, 'must be an http or https URL without user and password')
  }

  matching(name: string, form: RegExp, what: string): string | undefined {
    const text = this.label(name)
    if (text === undefined || form.test(text)) return text
    return this.refuse(name, `must be ${what}`)
  }

  labels(name: string): string[] | undefined {
    return this.#list(name, (items, at) => items.required(at, items.label(at), ''))
  }

  urls(name: string): string[] | undefined {
    return this.#list(name, (items, at) => items.required(at, items.url(at), ''))
  }

  object<Value>(name: string, read: (reader: EntryReader) => Value): Value | undefined {
    const value = this.any(name)
    if (value === undefined) return undefined
    const reader = new EntryReader(value, pointerTo(this.#own, name))
    const parsed = read(reader)
    this.inherit(reader.failure)
    return parsed
  }

  objects<Value>(name: string, read: (reader: EntryReader) => Value): Value[] | undefined {
    const parsed = this.#list(name, (items, at) => {
      const value = items.object(at, read)
      if (value === undefined) items.refuse(at, 'must be an object')
      return value
    })
    return parsed?.filter(value => value !== undefined)
  }

  #list<Value>(name: string, read: (items: EntryReader, at: string) => Value): Value[] | undefined {
    const value = this.any(name)
    if (value === undefined) return undefined
    if (!Array.isArray(value)) return this.refuse(name, 'must be a list')
    const most = maxCatalogItems
    if (value.length > most) return this.refuse(name, `must not have more than ${most} items`)
    const items = new EntryReader(Object.fromEntries(value.entries()), pointerTo(this.#own, name))
    const parsed = value.map((_, at) => read(items, String(at)))
    this.inherit(items.failure)
    return parsed
  }
}

/** All but tab and line feed. */
const controls = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/

function isWebUrl(text: string): boolean {
  const url = URL.parse(text)
  if (url === null || url.username !== '' || url.password !== '') return false
  return url.protocol === 'https:' || url.protocol === 'http:'
}
