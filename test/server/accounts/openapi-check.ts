import { expect } from 'chai'
import { z } from 'zod'
import { type Answer, ask } from '../../helpers/mcp.ts'

interface Operation {
  responses: Record<string, { content?: Record<string, { schema: object }> }>
}
interface Document {
  paths: Record<string, Record<string, Operation>>
  components: { schemas: Record<string, object> }
}

/** One for all servers: it says the same whatever their settings are. */
let fetched: Promise<Document> | null = null
const shapes = new WeakMap<object, { readonly inlined: object; readonly type: z.ZodType }>()

/** Operations and statuses that were seen, by all checks so far. */
export const exercised = new Set<string>()

function documentOf(base: string): Promise<Document> {
  fetched ??= ask(`${base}/openapi.json`).then(({ json }) => json as Document)
  return fetched
}

/**
 * Fails unless the document foresees this answer: the status, the media type, and a body of the
 * schema with no member beyond it. Paths and methods that are not served must be plain problems.
 */
export async function checkAnswer(
  base: string,
  method: string,
  path: string,
  answer: Answer,
): Promise<void> {
  const document = await documentOf(base)
  const label = `${method} ${path}: ${answer.status} ${answer.text}`
  const template = templateOf(document, path)
  const operation =
    template === undefined ? undefined : document.paths[template]?.[method.toLowerCase()]
  const type = answer.headers['content-type']?.split(';')[0]
  if (answer.status >= 400) {
    if (method === 'HEAD') return
    expect(type, label).to.equal('application/problem+json')
    expect(answer.json, label).to.include({ status: answer.status })
    checkBody(document, document.components.schemas['Problem']!, answer.json, label)
  }
  if (operation === undefined) {
    expect(answer.status, label).to.be.oneOf([204, 200, 400, 401, 403, 404, 405, 406, 414])
    return
  }
  const foreseen = operation.responses[String(answer.status)]
  expect(foreseen, `the document does not foresee ${label}`).to.not.equal(undefined)
  exercised.add(`${method} ${template} ${answer.status}`)
  if (answer.status >= 400) {
    const words = (foreseen as unknown as { description: string }).description.split(', ')
    expect(words, label).to.include(answer.json.code)
  } else if (foreseen?.content === undefined) {
    expect(answer.text, label).to.equal('')
  } else {
    expect(type, label).to.equal('application/json')
    checkBody(document, foreseen.content['application/json']!.schema, answer.json, label)
  }
}

/** Members that the schema does not have are taken off by parsing, so that they show here. */
function checkBody(document: Document, schema: object, body: unknown, label: string): void {
  const shape = shapeOf(document, schema)
  const parsed = shape.type.safeParse(body)
  expect(parsed.success, `${label}\n${parsed.error?.message}`).to.equal(true)
  const known = (shape.inlined as { properties?: object }).properties
  if (known === undefined || isOpen(shape.inlined)) return
  expect(Object.keys(known), label).to.include.members(Object.keys(body as object))
}

function shapeOf(document: Document, schema: object) {
  const known = shapes.get(schema)
  if (known !== undefined) return known
  const whole = inlined(document, schema) as Parameters<typeof z.fromJSONSchema>[0] & object
  const shape = { inlined: whole, type: z.fromJSONSchema(whole) }
  shapes.set(schema, shape)
  return shape
}

function isOpen(schema: object): boolean {
  const { additionalProperties } = schema as { additionalProperties?: unknown }
  return additionalProperties !== undefined && additionalProperties !== false
}

function templateOf(document: Document, path: string): string | undefined {
  const plain = path.split('?')[0] ?? ''
  if (Object.hasOwn(document.paths, plain)) return plain
  return Object.keys(document.paths).find(template => {
    const pattern = template.replace(/[.]/g, '\\.').replace(/\{\w+\}/g, '[^/]+')
    return new RegExp(`^${pattern}$`).test(plain)
  })
}

/** With every reference replaced by what it names; the shapes of this document do not recur. */
function inlined(document: Document, value: unknown): unknown {
  if (Array.isArray(value)) return value.map(item => inlined(document, item))
  if (typeof value !== 'object' || value === null) return value
  const { $ref } = value as { $ref?: string }
  if ($ref !== undefined) {
    const named = document.components.schemas[$ref.replace('#/components/schemas/', '')]
    if (named === undefined) throw new Error(`${$ref} is not in the document`)
    return inlined(document, named)
  }
  return Object.fromEntries(
    Object.entries(value)

      .map(([name, member]) => [name, inlined(document, member)]),
  )
}
