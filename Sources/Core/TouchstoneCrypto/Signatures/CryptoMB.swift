// Intel's crypto_mb: eight verifications at once by AVX-512 IFMA. Only for builds with ACCELERATED=1.

#if ACCELERATED
  internal import CCryptoMB

  /// Verification only: all of its input is public, so it needs no constant time.
  struct CryptoMB: LaneVerifier {
    /// `nil` if the CPU or the kernel lacks AVX-512 IFMA.
    ///
    /// The library has code for AVX-IFMA, too. It does not run here, because no machine of the project could test it.
    init?() {
      guard ccryptomb_has_avx512_ifma() != 0 else { return nil }
    }

    let name = "crypto_mb \(MBX_VER_MAJOR).\(MBX_VER_MINOR).\(MBX_VER_PATCH)"
    let laneCount = 8
    /// All eight lanes take 152 µs (19 µs each, used or not), and swift-crypto takes 49 µs for each signature.
    let minimumCount = 4

    func verify(_ lanes: [SignatureLane]) -> [Bool] {
      precondition(!lanes.isEmpty && lanes.count <= laneCount)
      var numbers: [UInt8] = []
      var coordinates: [UInt64] = []
      // The library defines nothing for an empty lane, so each gets a signature.
      for lane in lanes + repeatElement(lanes[0], count: laneCount - lanes.count) {
        numbers += lane.signature + lane.digest
        coordinates += Self.limbs(lane.publicKey.x) + Self.limbs(lane.publicKey.y)
      }
      let status = numbers.withUnsafeBufferPointer { numbers in
        coordinates.withUnsafeBufferPointer { coordinates in
          mbx_nistp256_ecdsa_verify_mb8(
            pointers(into: numbers, at: 0), pointers(into: numbers, at: 32), pointers(into: numbers, at: 64),
            pointers(into: coordinates, at: 0), pointers(into: coordinates, at: 4),
            // Affine points; the buffer is for later versions of the library.
            nil, nil)
        }
      }
      return lanes.indices.map { MBX_GET_STS(status, Int32($0)) == MBX_STATUS_OK }
    }

    /// A pointer for each lane, `offset` elements after the beginning of its part of the buffer.
    private func pointers<Element>(
      into buffer: UnsafeBufferPointer<Element>, at offset: Int
    ) -> [UnsafePointer<Element>?] {
      let stride = buffer.count / laneCount
      return (0..<laneCount).map { buffer.baseAddress! + $0 * stride + offset }
    }

    /// Little-endian limbs of a big-endian number of 32 bytes.
    private static func limbs(_ bytes: [UInt8]) -> [UInt64] {
      stride(from: 24, through: 0, by: -8).map { start in
        bytes[start..<start + 8].reduce(0) { $0 << 8 | UInt64($1) }
      }
    }
  }
#endif
