import { DnsMalformed } from './message.ts';
import type { DnsReader } from './reader.ts';

/** Mantissa and exponent of ten in one byte, in centimetres; returned in metres (RFC 1876 section 2). */
function metres(byte: number): string {
  const mantissa = byte >> 4;
  const exponent = byte & 0xf;
  if (mantissa > 9 || exponent > 9) throw new DnsMalformed('a size in LOC data is out of range');
  return `${(mantissa * 10 ** exponent) / 100}m`;
}

/** Thousandths of an arc second from the equator or prime meridian, which are encoded as 2^31. */
function angle(raw: number, hemispheres: readonly [string, string], maxDegrees: number): string {
  const value = raw - 2 ** 31;
  const thousandths = Math.abs(value);
  const degrees = Math.floor(thousandths / 3_600_000);
  if (thousandths > maxDegrees * 3_600_000) throw new DnsMalformed('an angle in LOC data is out of range');
  const minutes = Math.floor(thousandths / 60_000) % 60;
  const seconds = (thousandths % 60_000) / 1000;
  return `${degrees} ${minutes} ${seconds.toFixed(3)} ${value >= 0 ? hemispheres[0] : hemispheres[1]}`;
}

/** LOC data, RFC 1876 section 3. */
export function locText(reader: DnsReader): string {
  const version = reader.u8();
  if (version !== 0) throw new DnsMalformed(`LOC data have the unknown version ${version}`);
  const [size, horizontal, vertical] = [metres(reader.u8()), metres(reader.u8()), metres(reader.u8())];
  const latitude = angle(reader.u32(), ['N', 'S'], 90);
  const longitude = angle(reader.u32(), ['E', 'W'], 180);
  // Centimetres above a base 100 km below the ellipsoid.
  const altitude = (reader.u32() - 10_000_000) / 100;
  return `${latitude} ${longitude} ${altitude.toFixed(2)}m ${size} ${horizontal} ${vertical}`;
}
