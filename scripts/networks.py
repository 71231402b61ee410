"""Networks that other people wrote, for which `convert` and `fold` are checked: torchvision's and timm's."""

import warnings

from torch import nn

OF_TORCHVISION = """
alexnet vgg11 vgg11_bn squeezenet1_0 squeezenet1_1 resnet18 resnet34 resnet50 resnext50_32x4d wide_resnet50_2
densenet121 googlenet inception_v3 mobilenet_v2 mobilenet_v3_small mobilenet_v3_large shufflenet_v2_x0_5
shufflenet_v2_x1_0 mnasnet0_5 efficientnet_b0 efficientnet_v2_s regnet_x_400mf regnet_y_400mf convnext_tiny vit_b_32
swin_t maxvit_t
"""
OF_TIMM = """
resnet10t resnet18 resnet26d seresnet33ts resnetv2_50 resnetv2_50d_gn resnetblur50 efficientnet_lite0
efficientnet_b0 tf_efficientnet_b0 mobilenetv2_050 mobilenetv3_small_050 mobilenetv4_conv_small densenet121
vovnet39a ese_vovnet19b_slim regnetx_002 regnety_002 nf_resnet26 nf_regnet_b0 eca_nfnet_l0 hardcorenas_a
mnasnet_small ghostnet_050 lcnet_050 tinynet_e spnasnet_100 fbnetc_100 rexnet_100 repvgg_a0 dla34 cspresnet50
hrnet_w18_small selecsls42 xception41 mixnet_s skresnet18 resnest14d gernet_s mobileone_s0 convnext_atto
convnextv2_atto edgenext_xx_small poolformer_s12 test_resnet test_nfnet test_efficientnet test_byobnet test_vit
"""
NETWORKS = [*(f"torchvision {name}" for name in OF_TORCHVISION.split()), *(f"timm {name}" for name in OF_TIMM.split())]
SAMPLE = (  # of CI: every reason to refuse, and every kind of network that works
    ("timm test_resnet", "batch"),
    ("timm test_resnet", "filter_response"),  # fused normalizations, linear places
    ("timm test_resnet", "scaled_weight_standard"),
    ("timm test_resnet", "evonorm_b0"),
    ("timm test_efficientnet", "weight_mean_only"),  # fused normalizations, gates
    ("timm test_efficientnet", "none"),
    ("timm test_byobnet", "normprop"),
    ("torchvision squeezenet1_1", "evonorm_s0"),  # no normalization of its own
    ("torchvision squeezenet1_1", "group"),
    ("torchvision resnet18", "evonorm_s0"),
    ("torchvision googlenet", "spectral"),  # activations that are called as functions
    ("torchvision googlenet", "evonorm_s0"),
    ("torchvision googlenet", "normprop"),
    ("torchvision swin_t", "batch"),
    ("timm test_nfnet", "instance"),  # layers that compute their weights themselves
    ("timm test_nfnet", "weight"),
    ("timm test_vit", "batch"),
    ("timm test_vit", "evonorm_s0"),
    ("timm mobileone_s0", "weight_standard"),
)
CLASSES = 10
SIDES = {"torchvision inception_v3": 96, "torchvision vit_b_32": 224, "torchvision maxvit_t": 224, "timm test_vit": 160}


def build(network: str) -> nn.Module:
    """Build an untrained network for 10 classes."""
    library, _, name = network.partition(" ")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of both libraries about weights that are initialized otherwise some day
        if library == "timm":
            import timm

            return timm.create_model(name, num_classes=CLASSES)
        from torchvision import models

        auxiliary = {"aux_logits": False, "init_weights": False} if name in ("googlenet", "inception_v3") else {}
        return models.get_model(name, weights=None, num_classes=CLASSES, **auxiliary)


def shape(network: str) -> tuple[int, int, int]:
    """Return the shape of an image that is as small as the network takes."""
    side = SIDES.get(network, 64)
    return (3, side, side)
