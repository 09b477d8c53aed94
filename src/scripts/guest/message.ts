/**
 * The request and response objects of scripts: named values, some of them writable.
 *
 * This function is sent to the sandbox as text. It may refer only to its parameters and to the language's
 * built-ins.
 */

export interface MessageProperty {
  value: unknown
  readonly isWritable: boolean
}

/**
 * For the property `Body`: `getBody`, `setBody`, `appendBody`. For any name: `getValue`, `setValue`,
 * `appendValue`.
 */
export type Message = Record<string, (...parts: unknown[]) => unknown>

export function createMessage(properties: readonly [string, MessageProperty][], charsMax: number): Message {
  const values = new Map(properties)
  const sizes = new Map<string, number>()

  const refuse = (number: number, text: string): never => {
    throw new (Error as unknown as new (number: number, text: string) => Error)(number, text)
  }

  const sizeOf = (value: unknown): number => {
    if (value === null || value === undefined) return 0
    return (typeof value === 'object' ? (JSON.stringify(value) ?? '') : String(value)).length
  }

  /** The size is summed per piece, so that a thousand appends do not measure the body a thousand times. */
  const checkSize = (name: string, size: number): void => {
    if (size > charsMax) {
      const advice =
        'Return from script with current message and use continuation token to call the script again or modify ' +
        'your script.'
      refuse(413, `Resulting message would be too large because of "${name}". ${advice}`)
    }
    sizes.set(name, size)
  }

  const writable = (name: string): MessageProperty => {
    const property = values.get(name)
    if (property === undefined) return refuse(400, `Cannot set new values: ${name}`)
    if (!property.isWritable) return refuse(403, `Not a writable property: ${name}`)
    return property
  }

  const set = (name: string, value: unknown): void => {
    const property = writable(name)
    checkSize(name, sizeOf(value))
    property.value = value
  }

  const append = (name: string, value: unknown): void => {
    const property = writable(name)
    const { value: old } = property
    if (typeof old === 'string') {
      const piece = String(value)
      checkSize(name, (sizes.get(name) ?? old.length) + piece.length)
      property.value = old + piece
    } else {
      set(name, old === null || old === undefined ? value : (old as string) + (value as string))
    }
  }

  const get = (name: string): unknown => values.get(name)?.value

  const message: Message = { getValue: name => get(String(name)) }
  for (const [name, { isWritable }] of values) {
    message[`get${name}`] = () => get(name)
    if (!isWritable) continue
    message[`set${name}`] = value => set(name, value)
    message[`append${name}`] = value => append(name, value)
    message.setValue = (key, value) => set(String(key), value)
    message.appendValue = (key, value) => append(String(key), value)
  }
  return message
}
