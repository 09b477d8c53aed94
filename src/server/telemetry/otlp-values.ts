/** Values in the JSON form of OTLP: https://opentelemetry.io/docs/specs/otlp/#json-protobuf-encoding */

/** 64-bit integers are texts in this form. */
export function nanoseconds(epochMs: number): string {
  return String(BigInt(Math.round(epochMs * 1000)) * 1000n)
}

export function attributes(values: Readonly<Record<string, string | number>>): object[] {
  return Object.entries(values).map(([key, value]) => ({
    key,
    value: typeof value === 'number' ? { doubleValue: value } : { stringValue: value },
  }))
}
