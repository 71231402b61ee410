"""The user's own images, in a folder, a zip or a tar."""

import io
import os
import struct
import tarfile
import unicodedata
import zipfile
import zlib
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from normexp.data import image_folder
from normexp.data.base import Data, Split
from normexp.data.image_folder import ImageFolder
from normexp.data.images.decoding import decode
from normexp.data.images.tree import read_tree
from normexp.errors import UserError

Pictures = dict[str, bytes]
Write = Callable[..., Path]


@pytest.fixture
def write_zip(tmp_path: Path) -> Write:
    def write(files: Pictures) -> Path:
        path = tmp_path / "pictures.zip"
        with zipfile.ZipFile(path, "w") as archive:
            for name, data in files.items():
                archive.writestr(name, data)
        return path

    return write


@pytest.fixture(params=["write_tree", "write_zip", "write_tar"])
def write(request: pytest.FixtureRequest) -> Write:
    """Write pictures as each of the three kinds."""
    chosen: Write = request.getfixturevalue(request.param)
    return chosen


def test_image_folder_reads_every_kind(write: Write, pictures: Pictures) -> None:
    data = ImageFolder(path=str(write(pictures))).load(0)
    assert data.train.x.shape == (6, 6, 6, 3)
    assert data.train.x[:, 0, 0, 0].tolist() == [1, 2, 11, 12, 21, 22]
    assert data.train.y.tolist() == [0, 1, 0, 1, 0, 1]
    assert (len(data.validation), len(data.test), data.classes) == (0, 4, ("cat", "dog"))


def test_plain_tar_is_read(write_tar: Write, pictures: Pictures) -> None:
    assert len(ImageFolder(path=str(write_tar(pictures, "p.tar"))).load(0).train) == 6


def test_folder_around_the_splits_and_litter_are_accepted(write: Write, pictures: Pictures) -> None:
    litter = {"__MACOSX/train/cat/._0.png": b"x", "mine/.DS_Store": b"x", "mine/train/cat/._0.png": b"x"}
    wrapped = {f"mine/{name}": data for name, data in pictures.items()}
    path = write(wrapped | litter | {"mine/README.txt": b"x"})
    assert len(ImageFolder(path=str(path)).load(0).train) == 6


def test_content_is_that_of_the_images_alone(write_tree: Write, pictures: Pictures) -> None:
    path = write_tree(pictures)
    before = ImageFolder(path=str(path)).content()
    (path / "train" / "cat" / "Thumbs.db").write_bytes(b"of Windows")
    (path / "README.txt").write_text("mine")
    assert ImageFolder(path=str(path)).content() == before
    image = next(path.rglob("*.png"))
    image.rename(image.with_name("renamed.png"))
    assert ImageFolder(path=str(path)).content() != before


@pytest.mark.parametrize("name", ["val", "validation"])
def test_validation_split_is_taken_as_it_is(name: str, write_tree: Write, pictures: Pictures) -> None:
    more = {p.replace("test", name): data for p, data in pictures.items() if p.startswith("test")}
    data = ImageFolder(path=str(write_tree(pictures | more)), validation=2).load(0)
    assert (len(data.train), len(data.validation), len(data.test)) == (6, 4, 4)


def test_validation_is_held_out_where_there_is_none(write_tree: Write, pictures: Pictures) -> None:
    data = ImageFolder(path=str(write_tree(pictures)), validation=2).load(0)
    assert (len(data.train), sorted(data.validation.y.tolist())) == (4, [0, 1])


def test_channels_1_reads_grey(write_tree: Write, pictures: Pictures) -> None:
    data = ImageFolder(path=str(write_tree(pictures)), channels=1).load(0)
    assert data.input_shape == (1, 6, 6)


def test_size_scales_the_shorter_side_and_crops_the_centre(
    write_tree: Write, pictures: Pictures, encode: Callable[..., bytes]
) -> None:
    wide = pictures | {"train/cat/0.png": encode(1, (24, 12)), "test/dog/0.png": encode(1, (9, 30))}
    assert ImageFolder(path=str(write_tree(wide)), size=8).load(0).input_shape == (3, 8, 8)


def test_second_opening_decodes_nothing(write: Write, pictures: Pictures, monkeypatch: pytest.MonkeyPatch) -> None:
    path = str(write(pictures))
    first = ImageFolder(path=path).load(0)
    monkeypatch.setattr(image_folder, "read_tree", lambda *args: pytest.fail("decoded again"))
    assert ImageFolder(path=path).load(0).fingerprint == first.fingerprint


def test_added_image_is_noticed(write_tree: Write, pictures: Pictures, encode: Callable[..., bytes]) -> None:
    path = write_tree(pictures)
    assert len(ImageFolder(path=str(path)).load(0).train) == 6
    (path / "train" / "cat" / "9.png").write_bytes(encode(5))
    assert len(ImageFolder(path=str(path)).load(0).train) == 7


@pytest.mark.parametrize(("name", "why"), [("train/cat/9.webp", "convert it first"), ("train/emu", "without images")])
def test_what_is_refused_is_refused_of_what_is_cached_too(
    write_tree: Write, pictures: Pictures, name: str, why: str
) -> None:
    path = write_tree(pictures)
    if not path.is_dir():
        pytest.skip("an archive is another file")
    ImageFolder(path=str(path)).load(0)
    (path / name).mkdir() if not Path(name).suffix else (path / name).write_bytes(b"")
    with pytest.raises(UserError, match=why):
        ImageFolder(path=str(path)).load(0)


def test_a_tree_with_an_empty_class_is_refused_whoever_reads_it(write_tree: Write, pictures: Pictures) -> None:
    path = write_tree(pictures)
    if not path.is_dir():
        pytest.skip("an archive has no empty folders")
    (path / "train" / "emu").mkdir()
    with pytest.raises(UserError, match="'train/emu': a class without images"):
        read_tree(path, channels=3)


def test_path_is_required() -> None:
    with pytest.raises(UserError, match=r"dataset\.path is not set: .* train/CLASS/"):
        ImageFolder().load(0)


def test_missing_path_is_named() -> None:
    with pytest.raises(UserError, match=r"dataset\.path=nowhere: no such file or folder"):
        ImageFolder(path="nowhere").load(0)


def test_two_channels_are_refused(write_tree: Write, pictures: Pictures) -> None:
    with pytest.raises(UserError, match=r"dataset\.channels=2: must be 1 \(grey\) or 3 \(RGB\)"):
        ImageFolder(path=str(write_tree(pictures)), channels=2).load(0)


@pytest.fixture
def ten_of_each(encode: Callable[..., bytes]) -> Pictures:
    """Folders of classes alone: ten cats and five dogs of their own shades."""
    counts = {"cat": 10, "dog": 5}
    return {f"{kind}/{i}.png": encode(i + 20 * (kind == "dog")) for kind, n in counts.items() for i in range(n)}


def shades(split: Split) -> list[int]:
    return split.x[:, 0, 0, 0].tolist()


def sizes(data: Data) -> list[list[int]]:
    """Return the number of cats and dogs of every split."""
    return [np.bincount(split.y, minlength=2).tolist() for split in (data.train, data.validation, data.test)]


def test_classes_alone_give_a_fifth_of_each_to_the_test_split(write: Write, ten_of_each: Pictures) -> None:
    data = ImageFolder(path=str(write(ten_of_each))).load(0)
    assert sizes(data) == [[8, 4], [0, 0], [2, 1]]
    assert data.classes == ("cat", "dog")
    assert data.note == "no test folder: 3 of 15 images, chosen by dataset.split_seed, are the test split"


def test_shares_are_of_all_images_of_every_class_and_overlap_nowhere(write_tree: Write, ten_of_each: Pictures) -> None:
    path = str(write_tree({f"pets/{name}": data for name, data in ten_of_each.items()}))
    data = ImageFolder(path=path, validation=0.2, test=0.4).load(0)
    assert sizes(data) == [[4, 2], [2, 1], [4, 2]]
    assert sorted(shades(data.train) + shades(data.validation) + shades(data.test)) == [*range(10), *range(20, 25)]


def test_a_folder_of_validation_images_says_that_it_is_the_split(write: Write, ten_of_each: Pictures) -> None:
    tree = {f"{split}/{name}": data for split in ("train", "val") for name, data in ten_of_each.items()}
    path = str(write(tree))
    test = "no test folder: 3 of 15 images, chosen by dataset.split_seed, are the test split"
    assert ImageFolder(path=path).load(0).note == test
    said = "a validation folder is there, and dataset.validation=0.4 is not used"
    assert ImageFolder(path=path, validation=0.4).load(0).note == f"{test}; {said}"


def test_split_seed_alone_says_who_is_tested(write_tree: Write, ten_of_each: Pictures) -> None:
    path = str(write_tree(ten_of_each))
    first, again, other = (ImageFolder(path=path, split_seed=seed).load(run) for seed, run in ((0, 0), (0, 1), (1, 0)))
    assert shades(first.test) == shades(again.test) != shades(other.test)


def test_number_of_test_images_is_taken_evenly(write_tree: Write, ten_of_each: Pictures) -> None:
    data = ImageFolder(path=str(write_tree(ten_of_each)), test=6).load(0)
    assert sizes(data) == [[7, 2], [0, 0], [3, 3]]


def test_a_class_without_training_images_is_said(write_tree: Write, ten_of_each: Pictures) -> None:
    pictures = {name: data for name, data in ten_of_each.items() if not name.startswith("dog")}
    pictures["dog/0.png"] = ten_of_each["cat/0.png"]
    data = ImageFolder(path=str(write_tree(pictures)), test=4).load(0)
    assert data.note.endswith("; no training example of class 'dog'")


def test_classes_that_differ_in_their_case_alone_are_said(write_zip: Write, pictures: Pictures) -> None:
    path = write_zip({name.replace("dog", "Cat"): data for name, data in pictures.items()})
    data = ImageFolder(path=str(path)).load(0)
    assert data.classes == ("Cat", "cat")
    assert data.note.startswith("classes 'Cat' and 'cat' are taken as two; ")


def test_train_and_val_without_test_give_a_test_split_of_train(write: Write, pictures: Pictures) -> None:
    data = ImageFolder(path=str(write({p.replace("test/", "Valid/"): d for p, d in pictures.items()}))).load(0)
    assert sizes(data) == [[2, 2], [2, 2], [1, 1]]


def test_test_split_of_their_own_is_not_replaced(write_tree: Write, pictures: Pictures) -> None:
    with pytest.raises(UserError, match=r"dataset\.test=0\.2: .* has a test split of its own; leave dataset\.test out"):
        ImageFolder(path=str(write_tree(pictures)), test=0.2).load(0)


@pytest.mark.parametrize(
    ("share", "rest"), [({"test": 0.95}, 10), *(({"validation": each}, 8) for each in (0.75, 0.85))]
)
def test_share_that_leaves_a_class_without_examples_is_told(share, rest, write_tree: Write, ten_of_each: Pictures):
    with pytest.raises(
        UserError, match=rf"=0\.\d+( \(0 holds none out\))?: leaves no example to train on: class '\w+' has {rest}"
    ):
        ImageFolder(path=str(write_tree(ten_of_each)), **share).load(0)


def test_a_class_called_like_a_split_is_told_why_it_is_none(write: Write, ten_of_each: Pictures) -> None:
    path = write({name.replace("dog/", "Test/"): picture for name, picture in ten_of_each.items()})
    with pytest.raises(UserError, match=r"is not in .*CLASS/.* \('Test' names a split, no class\); it must"):
        ImageFolder(path=str(path)).load(0)


def test_image_beside_the_classes_is_named_with_the_first(write: Write, ten_of_each: Pictures) -> None:
    path = write(ten_of_each | {"dog/young/9.png": ten_of_each["dog/0.png"]})
    with pytest.raises(UserError, match=r"image 'dog/young/9\.png' is not in CLASS/ as 'cat/0\.png' is; it must hold"):
        ImageFolder(path=str(path)).load(0)


def test_splits_without_classes_are_no_classes(write: Write, ten_of_each: Pictures) -> None:
    path = write({name.replace("cat", "train").replace("dog", "test"): data for name, data in ten_of_each.items()})
    reason = r"\('t\w+' names a split, no class\); it must hold"
    with pytest.raises(UserError, match=rf"image 't\w+/\d\.png' is not in SPLIT/CLASS/ {reason}"):
        ImageFolder(path=str(path)).load(0)


def test_missing_training_images_are_told_with_the_layout(write: Write, pictures: Pictures) -> None:
    rest = {name: data for name, data in pictures.items() if name.startswith("test")}
    message = r"no images in train/CLASS/ \(found: test\); it must hold train/CLASS"
    with pytest.raises(UserError, match=message):
        ImageFolder(path=str(write(rest))).load(0)


def test_empty_folder_is_told_with_the_layout(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"found: no images\); it must hold train/CLASS"):
        ImageFolder(path=str(tmp_path)).load(0)


def test_image_outside_of_a_class_is_named(write: Write, pictures: Pictures) -> None:
    path = write(pictures | {"train/0.png": pictures["train/cat/0.png"]})
    with pytest.raises(UserError, match=r"image 'train/0\.png' is not in SPLIT/CLASS/"):
        ImageFolder(path=str(path)).load(0)


def test_classes_must_agree(write_tree: Write, pictures: Pictures) -> None:
    path = write_tree(pictures | {"test/cow/0.png": pictures["test/cat/0.png"]})
    with pytest.raises(UserError, match="class 'cow' is in test/ but not in train/"):
        ImageFolder(path=str(path)).load(0)


def test_a_class_of_other_case_is_named_beside(write_tree: Write, pictures: Pictures) -> None:
    """`train/Cat` beside `test/cat`: who reads only the first name looks for a folder that seems to be there."""
    named = {name.replace("train/cat", "train/Cat"): data for name, data in pictures.items()}
    with pytest.raises(UserError, match="class 'Cat' is in train/ but not in test/, which has 'cat'; every split"):
        ImageFolder(path=str(write_tree(named))).load(0)


def test_one_class_is_refused(write_tree: Write, pictures: Pictures) -> None:
    cats = {name: data for name, data in pictures.items() if "cat" in name}
    with pytest.raises(UserError, match="only one class, 'cat'"):
        ImageFolder(path=str(write_tree(cats))).load(0)


@pytest.mark.parametrize("odd", ["train/dog/1.png", "test/"])
def test_unequal_sizes_are_named(odd: str, write_tree: Write, pictures: Pictures, encode: Callable[..., bytes]) -> None:
    path = write_tree(pictures | {name: encode(1, (5, 6)) for name in pictures if name.startswith(odd)})
    with pytest.raises(UserError, match=r"unequal size: .* is 6 x 6, .* is 5 x 6; set dataset\.size=N"):
        ImageFolder(path=str(path)).load(0)


@pytest.mark.parametrize("data", [b"", b"no image", None])
def test_damaged_image_is_named(data: bytes | None, write: Write, pictures: Pictures) -> None:
    broken = pictures["train/cat/0.png"][:-30] if data is None else data
    path = write(pictures | {"train/dog/2.png": broken})
    with pytest.raises(UserError, match=r"train/dog/2\.png: not a readable image \(\d+ bytes\)"):
        ImageFolder(path=str(path)).load(0)


@pytest.mark.parametrize("name", ["../train/cat/9.png", "/train/cat/9.png", "train/../../cat/9.png"])
@pytest.mark.parametrize("kind", ["write_zip", "write_tar"])
def test_member_that_points_outside_is_refused(
    kind: str, name: str, request: pytest.FixtureRequest, pictures: Pictures, tmp_path: Path
) -> None:
    path = request.getfixturevalue(kind)(pictures | {name: pictures["train/cat/0.png"]})
    before = set(tmp_path.rglob("*.png"))
    with pytest.raises(UserError, match="points outside of the archive, which is refused"):
        ImageFolder(path=str(path)).load(0)
    assert set(tmp_path.rglob("*.png")) == before


@pytest.mark.parametrize("kind", ["write_zip", "write_tar"])
@pytest.mark.parametrize("keep", [10, 400, -10])
def test_truncated_archive_is_told(kind: str, keep: int, request: pytest.FixtureRequest, pictures: Pictures) -> None:
    path = request.getfixturevalue(kind)(pictures)
    path.write_bytes(path.read_bytes()[:keep])
    with pytest.raises(UserError, match=r"damaged or truncated archive of \d+ bytes .*; get a fresh copy"):
        ImageFolder(path=str(path)).load(0)


def test_truncated_plain_tar_is_told(write_tar: Write, pictures: Pictures) -> None:
    path = write_tar(pictures, "p.tar")
    path.write_bytes(path.read_bytes()[:700])
    with pytest.raises(UserError, match="damaged or truncated archive of 700 bytes"):
        ImageFolder(path=str(path)).load(0)


@pytest.mark.parametrize("whole", [True, False])
def test_plain_tar_with_a_damaged_header_or_none_is_not_taken_for_its_beginning(
    whole: bool, write_tar: Write, pictures: Pictures
) -> None:
    """Python's tarfile takes both for the end of the archive, and all classes behind it would be missing."""
    path = write_tar(pictures | {f"train/emu/{n}.png": pictures["train/cat/0.png"] for n in range(3)}, "p.tar")
    data = path.read_bytes()
    start = data.index(b"train/emu/0.png")
    path.write_bytes(data[:start] + b"T" + data[start + 1 :] if whole else data[:start])
    with pytest.raises(UserError, match=r"damaged or truncated archive of \d+ bytes \((bad checksum|empty header)\)"):
        ImageFolder(path=str(path)).load(0)


@pytest.mark.parametrize("kind", ["write_zip", "write_tar"])
def test_a_class_without_images_in_an_archive_is_refused(
    kind: str, request: pytest.FixtureRequest, pictures: Pictures
) -> None:
    """As in the folder that was packed."""
    path = request.getfixturevalue(kind)(pictures)
    if kind == "write_zip":
        with zipfile.ZipFile(path, "a") as archive:
            archive.writestr("train/", b"")
            archive.writestr("train/.cache/", b"")
            archive.writestr("train/emu/", b"")
    else:
        with tarfile.open(path, "w:gz") as archive:
            for name, data in pictures.items():
                info = tarfile.TarInfo(name)
                info.size = len(data)
                archive.addfile(info, io.BytesIO(data))
            for name in (".", "train", "train/.cache", "train/emu"):
                info = tarfile.TarInfo(name)
                info.type = tarfile.DIRTYPE
                archive.addfile(info)
    with pytest.raises(UserError, match="'train/emu': a class without images; remove the folder"):
        ImageFolder(path=str(path)).load(0)


def test_two_folders_of_one_split_are_not_mixed(write: Write, pictures: Pictures) -> None:
    folds = {f"fold{number}/{name}": data for number in (1, 2) for name, data in pictures.items()}
    with pytest.raises(UserError, match=r"'fold1/(t\w+)' and 'fold2/\1' are two folders of \1 images; keep one"):
        ImageFolder(path=str(write(folds))).load(0)


def test_splits_that_lie_in_folders_of_their_own_are_read(write: Write, pictures: Pictures) -> None:
    path = write({f"{name.partition('/')[0]}/{name}": data for name, data in pictures.items()})
    assert [len(split) for split in ImageFolder(path=str(path)).load(0).splits] == [6, 0, 4]


def test_link_to_nowhere_is_named(write_tree: Write, pictures: Pictures) -> None:
    path = write_tree(pictures)
    (path / "train" / "cat" / "8.png").symlink_to("nowhere.png")
    with pytest.raises(UserError, match=r"8\.png: cannot be read \(No such file or directory\)"):
        ImageFolder(path=str(path)).load(0)


def encoded(image: Image.Image, kind: str = "PNG", **options: object) -> bytes:
    buffer = io.BytesIO()
    image.save(buffer, kind, **options)
    return buffer.getvalue()


ORANGE = (250, 120, 10)
KINDS = {  # of images that mean one thing -> how one whose pixels are all orange, or its grey, is made
    "RGB": lambda: encoded(Image.new("RGB", (4, 3), ORANGE)),
    "grey": lambda: encoded(Image.new("L", (4, 3), 146)),
    "black and white": lambda: encoded(Image.new("1", (4, 3), 1)),
    "a palette": lambda: encoded(Image.new("RGB", (4, 3), ORANGE).quantize(4)),
    "opaque": lambda: encoded(Image.new("RGBA", (4, 3), (*ORANGE, 255))),
    "opaque grey": lambda: encoded(Image.new("LA", (4, 3), (146, 255))),
    "a colour of transparency that no pixel has": lambda: encoded(
        Image.new("RGB", (4, 3), ORANGE), transparency=(0, 0, 0)
    ),
    "another format": lambda: encoded(Image.new("RGB", (4, 3), ORANGE), "BMP"),
    "one frame": lambda: encoded(Image.new("RGB", (4, 3), ORANGE).quantize(4), "GIF"),
}
GREY = {"grey": 146, "opaque grey": 146, "black and white": 255}


@pytest.mark.parametrize("kind", KINDS)
def test_decode_of_every_kind_that_means_one_thing(kind: str) -> None:
    pixel = (GREY[kind],) * 3 if kind in GREY else ORANGE
    colour, grey = (decode(KINDS[kind](), "x", channels) for channels in (3, 1))
    assert (colour.shape, colour.dtype, grey.shape) == ((3, 4, 3), np.uint8, (3, 4, 1))
    assert (colour == np.array(pixel)).all()
    assert (grey == GREY.get(kind, 146)).all()  # ITU-R 601: 0.299 R + 0.587 G + 0.114 B


CORNER = Image.fromarray(
    np.pad(np.full((1, 1), 255, np.uint8), ((0, 1), (0, 2)))
)  # 3 wide, 2 high, white at the top left
PLACES = {1: (0, 0), 2: (0, 2), 3: (1, 2), 4: (1, 0), 5: (0, 0), 6: (0, 1), 7: (2, 1), 8: (2, 0)}  # of it: row, column


@pytest.mark.parametrize("orientation", PLACES)
def test_decode_turns_an_image_as_its_exif_data_say(orientation: int) -> None:
    exif = Image.Exif()
    exif[0x0112] = orientation
    array = decode(encoded(CORNER, exif=exif), "x", 1)[..., 0]
    assert array.shape == ((2, 3) if orientation < 5 else (3, 2))
    assert np.argwhere(array).tolist() == [list(PLACES[orientation])]


def _frames(kind: str) -> bytes:
    first, second = (Image.new("L", (4, 3), value) for value in (0, 200))
    return encoded(first, kind, save_all=True, append_images=[second])


def _colours_of_16_bits() -> bytes:
    """Return a PNG of one pixel of three times 16 bits, which Pillow reads, but does not write."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header, pixels = struct.pack(">IIBBBBB", 1, 1, 16, 2, 0, 0, 0), zlib.compress(b"\0" + bytes(range(6)))
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", pixels) + chunk(b"IEND", b"")


REFUSED = {
    "16 bits of grey": (lambda: encoded(Image.new("I;16", (4, 3))), r"more than 8 bits per channel \(16\)"),
    "16 bits of colour": (_colours_of_16_bits, r"more than 8 bits per channel \(16\)"),
    "colours of print": (lambda: encoded(Image.new("CMYK", (4, 3)), "JPEG"), "colours of mode CMYK"),
    "transparent": (lambda: encoded(Image.new("RGBA", (4, 3), (*ORANGE, 254))), "has transparent pixels"),
    "transparent grey": (lambda: encoded(Image.new("LA", (4, 3), (9, 0))), "has transparent pixels"),
    "a transparent colour": (
        lambda: encoded(Image.new("RGB", (4, 3), ORANGE), transparency=ORANGE),
        "has transparent pixels",
    ),
    "a transparent entry of a palette": (
        lambda: encoded(Image.new("RGB", (4, 3), ORANGE).quantize(4), transparency=0),
        "has transparent pixels",
    ),
    "animated PNG": (lambda: _frames("PNG"), "animated"),
    "animated GIF": (lambda: _frames("GIF"), "animated"),
    "a format of many kinds": (lambda: encoded(Image.new("RGB", (4, 3)), "TIFF"), "not a readable image"),
    "a hair": (lambda: encoded(Image.new("RGB", (1, 9))), r"1 x 9 pixels, too narrow for dataset\.size=4000"),
}


@pytest.mark.parametrize("kind", REFUSED)
def test_decode_refuses_what_means_no_one_thing(kind: str) -> None:
    make, said = REFUSED[kind]
    with pytest.raises(UserError, match=f"^folder: a/1.png: {said}"):
        decode(make(), "folder: a/1.png", 3, size=4000)


def test_decode_takes_the_photograph_of_a_file_with_a_preview() -> None:
    photograph, preview = Image.new("RGB", (8, 8), "white"), Image.new("RGB", (8, 8), "black")
    data = encoded(photograph, "MPO", save_all=True, append_images=[preview])
    assert (decode(data, "x", 3) == 255).all()


@pytest.mark.parametrize("seed", range(20))
def test_decode_of_damaged_bytes_is_an_image_or_a_refusal(seed: int) -> None:
    exif = Image.Exif()
    exif[0x0112], exif[0x8769] = 6, {0x9286: "a comment"}
    draw = np.random.default_rng(seed)
    for kind in ("PNG", "JPEG", "WEBP"):
        data = np.frombuffer(encoded(CORNER.convert("RGB"), kind, exif=exif), np.uint8).copy()
        places = draw.integers(8, len(data), size=3)
        data[places] = draw.integers(0, 256, size=3)
        with suppress(UserError):
            assert decode(data.tobytes(), "x", 3).ndim == 3


def test_decode_crops_the_centre() -> None:
    stripes = np.repeat(np.array([[10] * 2 + [200] * 4 + [10] * 2], dtype=np.uint8), 4, axis=0)
    buffer = io.BytesIO()
    Image.fromarray(stripes).save(buffer, "PNG")
    assert (decode(buffer.getvalue(), "x", 1, size=4) == 200).all()


def test_pipe_among_the_images_is_refused_and_not_waited_for(write_tree: Write, pictures: Pictures) -> None:
    path = write_tree(pictures)
    os.mkfifo(path / "train" / "cat" / "9.png")
    with pytest.raises(UserError, match=r"train/cat/9\.png: cannot be read \(not a regular file\)"):
        ImageFolder(path=str(path)).content()


def test_link_to_a_folder_above_is_named_and_not_followed(write_tree: Write, pictures: Pictures) -> None:
    path = write_tree(pictures)
    (path / "train" / "again").symlink_to("..")
    with pytest.raises(UserError, match="train/again: is a link to a folder that it is in"):
        ImageFolder(path=str(path)).content()


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("train/cat/x.WEBP", r"'train/cat/x\.WEBP': images must be \.png or \.jpg; convert it first"),
        ("train/bird/notes.txt", "'train/bird': a class without images; remove the folder"),
    ],
)
def test_what_would_be_left_out_is_named(name: str, said: str, write_tree: Write, pictures: Pictures) -> None:
    path = write_tree({**pictures, "train/.git/x": b"", "notes/a.txt": b"", name: b"x"})
    with pytest.raises(UserError, match=said):
        ImageFolder(path=str(path)).load(0)


def test_class_names_are_one_in_either_form_of_accents(write_tree: Write, pictures: Pictures) -> None:
    written = {"train": "NFC", "test": "NFD"}
    renamed = {
        name.replace("cat", unicodedata.normalize(written[name.partition("/")[0]], "kätzchen")): data
        for name, data in pictures.items()
    }
    assert ImageFolder(path=str(write_tree(renamed))).load(0).classes == ("dog", "kätzchen")


def test_what_lies_among_the_images_and_is_not_read_is_said_once(write: Write, pictures: Pictures, caplog) -> None:
    caplog.set_level("INFO", logger="normexp")
    path = write(pictures | {"train/cat/forgotten": b"x", "train/dog/9.tga": b"x", "train/cat/Thumbs.db": b"x"})
    for _ in range(2):
        assert len(ImageFolder(path=str(path)).load(0).train) == 6
    (said,) = [line for line in caplog.messages if "left out" in line]
    assert said.startswith(f"{path}: left out 2 files among the images, no .png or .jpg (train/")


def test_a_folder_called_dev_holds_the_validation_split(write: Write, pictures: Pictures) -> None:
    renamed = {name.replace("test/", "dev/"): data for name, data in pictures.items()}
    data = ImageFolder(path=str(write(renamed)), test=2).load(0)
    assert (len(data.validation), len(data.test)) == (4, 2)


@pytest.mark.parametrize("folder", ["extra", "training_set", "zz"])
def test_a_folder_beside_train_that_names_no_split_is_told(write: Write, pictures: Pictures, folder: str) -> None:
    odd = {name.replace("test/", f"{folder}/"): data for name, data in pictures.items()}
    with pytest.raises(UserError, match=rf"\('{folder}' is no name of a split; allowed: train, val, test\)"):
        ImageFolder(path=str(write(odd))).load(0)


def test_images_that_are_in_both_splits_are_counted(write_tree: Write, pictures: Pictures) -> None:
    training = {name: data for name, data in pictures.items() if name.startswith("train/")}
    path = write_tree(training | {name.replace("train/", "test/"): data for name, data in training.items()})
    assert ImageFolder(path=str(path)).load(0).note == "6 of 6 test examples are training examples, too"
